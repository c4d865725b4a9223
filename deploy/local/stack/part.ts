// The interface of the stack's parts, the data folder with its one owner, and waiting for a server.
import { type Guard, type Command, type PartExit, statOf } from './process.ts';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withoutCredentials } from '#shared/address.ts';
import { hasCode } from '#shared/errors.ts';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

/** The variables of deploy/.env. */
export type ImageVariable =
  'NODE_IMAGE' | 'KAFKA_IMAGE' | 'MONGO_IMAGE' | 'REDIS_IMAGE' | 'PROXY_IMAGE';

/**
 * An address from the environment, a container, or a program of this machine or of a package
 * registry.
 */
export const SOURCES = ['address', 'container', 'program'] as const;
export type PartSource = (typeof SOURCES)[number];

export const TOPOLOGIES = ['single', 'cluster'] as const;

/** A server that answers, or a cluster of them, and how to end it. */
export interface RunningPart {
  source: PartSource;
  /** Kafka: `host:port,…`; the others: a URL. */
  address: string;
  /** Only programs have some: of a cluster, one for each server. */
  pids?: readonly number[];
  /** The file with its output; an address has none. */
  logFile?: string;
  /** Resolves when the server, or the first of a cluster, ends; never for an address. */
  exited: Promise<PartExit>;
  /** Ends the server: gracefully where its data is kept, else at once. */
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
  topology?: (typeof TOPOLOGIES)[number];
}

/** Where a server stands among those of its cluster. */
export interface ClusterMember {
  index: number;
  /** The ports of all servers, those of each one together. */
  ports: readonly (readonly number[])[];
}

interface ContainerPlan {
  environment?: Record<string, string>;
  /** Default: the image's own. */
  command?: string[];
  /** Where the server keeps its data in the container. */
  dataPath: string;
}

export interface LocatedProgram {
  /**
   * Prepares `folder` (what is in it stays) and says how to start the server on these ports, alone
   * or in a cluster.
   */
  prepare(
    folder: string,
    ports: readonly number[],
    logFile: string,
    member?: ClusterMember,
  ): Promise<Command>;
}

export interface PartDefinition {
  name: PartName;
  addressVariable: string;
  imageVariable: ImageVariable;
  /** How many ports a server listens on; the first is the one that clients use. */
  portCount: number;
  clusterSize: number;
  /** Rejects with the reason when no such server answers there. */
  checkAddress(address: string): Promise<void>;
  locateProgram(context: StartContext): Promise<LocatedProgram>;
  planContainer(ports: readonly number[], keepData: boolean): ContainerPlan;
  /**
   * Resolves with the address when the server or cluster, whose ports take connections, serves.
   * Gives up on `signal`.
   */
  awaitReady(ports: readonly number[], signal: AbortSignal): Promise<string>;
}

/** The only address that the servers listen at: they have no passwords. */
export const LOOPBACK = '127.0.0.1';

const PAUSE_MS = 50;

/** How long a server may take to start, and a given one to answer. */
const START_LIMIT_MS = 60_000;
export const CHECK_LIMIT_MS = 5_000;

/** Retries until the signal aborts or the time to start is over. @throws the last failure. */
export async function retryUntil<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  const limit = Date.now() + START_LIMIT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) throw error;
      if (Date.now() > limit) {
        throw new Error(`not ready after ${START_LIMIT_MS / 1000} s: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    }
    await sleep(PAUSE_MS);
  }
}

const REPORT_MS = 5_000;

/** Logs the work at its beginning, and how long it has taken every few seconds. */
export async function withReports<T>(
  what: string,
  log: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const started = Date.now();
  log(what);
  const report = () => log(`${what}: ${Math.round((Date.now() - started) / 1_000)} s`);
  const timer = setInterval(report, REPORT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Resolves once the port accepts connections, which is cheaper than a client with retries. */
export function awaitPort(port: number, signal: AbortSignal): Promise<void> {
  return retryUntil(signal, async () => {
    const socket = connect({ host: LOOPBACK, port, timeout: 2_000 });
    socket.once('timeout', () => socket.destroy(new Error(`no answer from port ${port}`)));
    await once(socket, 'connect');
    socket.destroy();
  });
}

/** An error that the user can act on: show its `message` alone. */
export class StackError extends Error {
  override readonly name = 'StackError';
}

/** The message of an error, without credentials in addresses. */
export function reasonOf(error: unknown): string {
  return withoutCredentials(error instanceof Error ? error.message : String(error));
}

export type PartName = 'kafka' | 'mongodb' | 'redis';

export type DataFolder = ReturnType<typeof dataFolderAt>;

export function dataFolderAt(folder: string) {
  const path = resolve(folder);
  const logs = join(path, 'logs');
  return {
    path,
    part: (name: PartName) => join(path, name),
    logs,
    logFile: (name: PartName) => join(logs, `${name}.log`),
    /** Claims the folder for this process. */
    ownerFile: join(path, `owner-${process.pid}.json`),
  };
}

const GUARDIAN_LIMIT_MS = 10_000;

/** A process; `started` distinguishes it from a later one with the same id. */
type ProcessIdentity = ReturnType<typeof identify>;
type Owner = Record<'owner' | 'guardian', ProcessIdentity>;

/** Two processes that claim a folder at the same moment both withdraw, and try again. */
const UNDECIDED_MS = 1_000;

/**
 * Makes the folder and claims it for this process and its guardian, after waiting for the guardian
 * of a dead owner. Each process has a file of its own, writes it before it looks at those of
 * others, and never removes that of a live one: so two cannot both claim it.
 */
export async function claimFolder(folder: DataFolder, guardianPid: number): Promise<void> {
  const limit = Date.now() + GUARDIAN_LIMIT_MS;
  const claim: Owner = { owner: identify(process.pid), guardian: identify(guardianPid) };
  for (;;) {
    const own = readOwner(folder.ownerFile);
    if (own !== undefined && isRunning(own.owner)) throw claimed(folder, own.owner.pid);
    if (!writeClaim(folder, claim)) continue;
    const others = otherClaims(folder);
    const live = others.find(({ owner }) => isRunning(owner));
    const ending = others.filter(({ guardian }) => isRunning(guardian) && Date.now() < limit);
    if (live === undefined && ending.length === 0) {
      for (const { file } of others) rmSync(file, { force: true });
      return;
    }
    rmSync(folder.ownerFile, { force: true });
    if (live !== undefined && live.ageMs > UNDECIDED_MS) throw claimed(folder, live.owner.pid);
    await sleep(50 + Math.random() * 100);
  }
}

const claimed = ({ path }: DataFolder, pid: number) =>
  new StackError(
    `process ${pid} runs a stack in ${path}; stop it, or give this one its own folder`,
  );

/** @returns whether it was written: a guardian may just have removed the folder. */
function writeClaim({ path, ownerFile }: DataFolder, claim: Owner): boolean {
  const draft = `${ownerFile}.new`;
  try {
    mkdirSync(path, { recursive: true });
    writeFileSync(draft, JSON.stringify(claim));
    // No process reads half of it.
    renameSync(draft, ownerFile);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw new StackError(
      `the data folder cannot be used (${reasonOf(error)}): npm start -- --folder <path> takes another one`,
      { cause: error },
    );
  }
}

function otherClaims({ path, ownerFile }: DataFolder): (Owner & { file: string; ageMs: number })[] {
  const files = readdirSync(path).filter((name) => /^owner.*\.json$/.test(name));
  return files
    .map((name) => join(path, name))
    .filter((file) => file !== ownerFile)
    .flatMap((file) => {
      const owner = readOwner(file);
      const written = statSync(file, { throwIfNoEntry: false });
      return owner === undefined || written === undefined
        ? []
        : [{ ...owner, file, ageMs: Date.now() - written.mtimeMs }];
    });
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Owner;
  } catch {
    // The file is missing, or its writer was killed.
    return undefined;
  }
}

function isRunning(known: ProcessIdentity): boolean {
  try {
    process.kill(known.pid, 0);
  } catch {
    return false;
  }
  return identify(known.pid).started === known.started;
}

/**
 * On Linux the start time distinguishes a process from a later one with its id; other systems have
 * the id alone.
 */
function identify(pid: number) {
  const { state, started = '' } = statOf(pid);
  return { pid, started: state === 'Z' ? 'ended' : started };
}
