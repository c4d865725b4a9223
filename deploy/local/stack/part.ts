// The interface of a part of the stack: Kafka, MongoDB or Redis, from an address, a container or a program.
import type { DataFolder, PartName } from './folder.ts';
import type { Guard } from './process.ts';
import type { Command, PartExit } from './process.ts';

/** The variables of deploy/.env. */
export type ImageVariable = 'NODE_IMAGE' | 'KAFKA_IMAGE' | 'MONGO_IMAGE' | 'REDIS_IMAGE' | 'PROXY_IMAGE';

/** An address from the environment, a container, or a program of this machine or of a package registry. */
export type PartSource = 'address' | 'container' | 'program';

/** One of each server, or a cluster of each. */
export type Topology = 'single' | 'cluster';

/** A server that answers, or a cluster of them, and how to end it. */
export interface RunningPart {
  source: PartSource;
  reason: string;
  /** Kafka: `host:port,…`; the others: a URL. */
  address: string;
  /** Only programs have some: of a cluster, one for each server. */
  pids?: readonly number[];
  /** The file with its output; an address has none. */
  logFile?: string;
  /** Resolves when the server ends, the first one of a cluster, asked or not; never for an address, which is not ours to watch. */
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
  /** Default: one server. */
  topology?: Topology;
}

/** Where a server stands among those of its cluster. */
export interface ClusterMember {
  /** From 0. */
  index: number;
  /** The ports of all servers, those of each one together. */
  ports: readonly (readonly number[])[];
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
  /** Prepares `folder` (what is in it stays) and says how to start the server on these ports, alone or in a cluster. */
  prepare(
    folder: string,
    ports: readonly number[],
    logFile: string,
    member?: ClusterMember,
  ): Promise<Command>;
}

/** One of the three servers: all that differs between them. */
export interface PartDefinition {
  name: PartName;
  /** The environment variable that gives its address. */
  addressVariable: string;
  /** The variable that gives its image, in the environment or in deploy/.env. */
  imageVariable: ImageVariable;
  /** How many ports a server listens on; the first is the one that clients use. */
  portCount: number;
  /** How many servers its cluster has. */
  clusterSize: number;
  /** Rejects with the reason when no such server answers there. */
  checkAddress(address: string): Promise<void>;
  /** Finds the program on this machine, or fetches it. */
  locateProgram(context: StartContext): Promise<LocatedProgram>;
  /** How its image is started. */
  planContainer(ports: readonly number[], host: string, keepData: boolean): ContainerPlan;
  /**
   * Resolves with the address when our server at this host and port, or our cluster of several, serves its clients; gives up on
   * `signal`.
   */
  awaitReady(host: string, ports: readonly number[], signal: AbortSignal): Promise<string>;
}
