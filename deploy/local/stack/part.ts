// What a part of the stack is, whichever of the three servers it is and wherever it comes from.
import type { DataFolder } from './folder/data-folder.ts';
import type { Guard } from './program/guard.ts';

/** An address from the environment, a container, or a program of this machine or of a package registry. */
export type PartSource = 'address' | 'container' | 'program';

/** How a server that died by itself ended. */
export interface PartExit {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/** A server that answers, and how to end it. */
export interface RunningPart {
  source: PartSource;
  reason: string;
  /** Kafka: `host:port,…`; the others: a URL. */
  address: string;
  /** Only programs have one. */
  pid?: number;
  /** The file with its output; an address has none. */
  logFile?: string;
  /** Resolves when the server ends, asked or not; never for an address, which is not ours to watch. */
  exited: Promise<PartExit>;
  /** Ends the server: gently where its data is kept, at once where it is thrown away. */
  stop(): Promise<void>;
}

/** What every part gets to start with. */
export interface StartContext {
  env: NodeJS.ProcessEnv;
  /** Writes one line for people, already marked with the part's name. */
  log: (line: string) => void;
  guard: Guard;
  folder: DataFolder;
  keepData: boolean;
}
