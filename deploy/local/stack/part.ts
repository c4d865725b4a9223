// What a part of the stack is, whichever of the three servers it is and wherever it comes from.
import type { ImageVariable } from './container/images.ts';
import type { DataFolder, PartName } from './folder/data-folder.ts';
import type { Guard } from './program/guard.ts';
import type { Command, PartExit } from './program/guarded-process.ts';

/** An address from the environment, a container, or a program of this machine or of a package registry. */
export type PartSource = 'address' | 'container' | 'program';

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

export interface StartContext {
  env: NodeJS.ProcessEnv;
  /** Writes one line for people, already marked with the part's name. */
  log: (line: string) => void;
  guard: Guard;
  folder: DataFolder;
  keepData: boolean;
}

/** What differs between the images. */
export interface ContainerPlan {
  environment: Record<string, string>;
  /** Empty: the image's own. */
  command: string[];
  /** Where the server keeps its data in the container. */
  dataPath: string;
  /** Where it is started; without it, where the image says. */
  workingFolder?: string;
}

export interface LocatedProgram {
  /** Its name, its version and where it was found. */
  description: string;
  /** Prepares `folder` (what is in it stays) and says how to start the server on these ports. */
  prepare(folder: string, ports: readonly number[], logFile: string): Promise<Command>;
}

/** One of the three servers: all that differs between them. */
export interface PartDefinition {
  name: PartName;
  /** The environment variable that gives its address. */
  addressVariable: string;
  /** The variable that gives its image, in the environment or in deploy/.env. */
  imageVariable: ImageVariable;
  /** How many ports it listens on; the first is the one that clients use. */
  portCount: number;
  /** Rejects with the reason when no such server answers there. */
  checkAddress(address: string): Promise<void>;
  /** Finds the program on this machine, or fetches it. */
  locateProgram(context: StartContext): Promise<LocatedProgram>;
  /** How its image is started. */
  planContainer(ports: readonly number[], host: string, keepData: boolean): ContainerPlan;
  /** Resolves with its address when the server of ours at this host and port serves its clients; gives up on `signal`. */
  awaitReady(host: string, port: number, signal: AbortSignal): Promise<string>;
}
