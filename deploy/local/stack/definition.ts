// What is to be known of a server so that the stack can start it, wherever it comes from.
import type { StartContext } from './part.ts';
import type { PartName } from './part-name.ts';
import type { Command } from './program/held-process.ts';

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

/** A program that can be started. */
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
  /** The environment variable that gives its image, and the image without it. */
  imageVariable: string;
  defaultImage: string;
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
