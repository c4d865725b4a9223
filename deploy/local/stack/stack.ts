// The local stack for `npm start` and tests: Kafka, MongoDB and Redis, single or clusters; each an
// address, a container or a program.
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { type Engine, ensureImage, findEngine, imageOf, startContainer } from './container.ts';
import {
  StackError,
  reasonOf,
  type PartDefinition,
  type PartSource,
  SOURCES,
  TOPOLOGIES,
  type RunningPart,
  type StartContext,
  claimFolder,
  type DataFolder,
  dataFolderAt,
  type PartName,
} from './part.ts';
import { kafkaPart } from './kafka/kafka.ts';
import { mongodbPart } from './mongodb/mongodb.ts';
import { type Guard, lastLines, type PartExit, startGuard } from './process.ts';
import { describeExit, startProgram } from './program.ts';
import { redisPart } from './redis/redis.ts';
import { readAddress, shownAddress } from '#shared/address.ts';
import { lazy } from '#shared/waiting.ts';

export interface Stack {
  kafkaBrokers: string[];
  mongodbUri: string;
  redisUrl: string;
  sources: PartSource[];
  /** The process ids of programs, of a cluster all, for tests of faults. */
  pids: Readonly<Record<PartName, readonly number[]>>;
  /** Resolves when a part dies by itself, with its last lines. stop() must still be called. */
  failed: Promise<{ message: string }>;
  /** Keeps the logs after the stop. @returns their folder. */
  keepLogs(): string;
  /** Ends all parts and removes their data, unless that is kept. Can be called again. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** Belongs to one stack at a time. Its `logs/` stay if a part failed. */
  dataFolder: string;
  /**
   * Leave the data for the next start with the same folder, and begin with what is there: of single
   * servers alone. Default: neither.
   */
  keepData?: boolean;
  /** One of each server, or a cluster of each. Default: what STACK_TOPOLOGY says, else `single`. */
  topology?: string | undefined;
  log: (line: string) => void;
  /** Default: this process's. */
  env?: NodeJS.ProcessEnv;
}

const PARTS: readonly PartDefinition[] = [kafkaPart, mongodbPart, redisPart];

/**
 * Starts the three servers; none outlives this process, even after SIGKILL.
 * @throws {StackError} that says what to do.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const env = options.env ?? process.env;
  const forced = wordOf('STACK_SOURCE', env['STACK_SOURCE'], SOURCES);
  const wanted = options.topology ?? env['STACK_TOPOLOGY'];
  const topology = wordOf('the topology (STACK_TOPOLOGY)', wanted, TOPOLOGIES) ?? 'single';
  const keepData = options.keepData ?? false;
  if (keepData && topology === 'cluster') throw new StackError('a cluster does not keep its data');
  const folder = dataFolderAt(options.dataFolder);
  const guard = startGuard();
  const leftovers = await takeFolder(folder, guard, keepData);
  const engine = lazy(findEngine);
  const running = new Map<PartName, RunningPart>();
  const errors = new Map<PartName, unknown>();
  const start = async (part: PartDefinition) => {
    const begin = Date.now();
    const log = (line: string) => options.log(`${part.name}: ${line}`);
    const context = { env, guard, folder, keepData, topology, log };
    try {
      running.set(part.name, await startPart(part, forced, engine, context));
      log(`ready in ${((Date.now() - begin) / 1000).toFixed(1)} s`);
    } catch (error) {
      errors.set(part.name, error);
    }
  };
  // Addresses first: if one is wrong, no server is started.
  const isAddress = (part: PartDefinition) => isGiven(part, forced, env);
  await Promise.all(PARTS.filter(isAddress).map(start));
  if (errors.size === 0) await Promise.all(PARTS.filter((part) => !isAddress(part)).map(start));
  let stopping = false;
  let failed = errors.size > 0;
  const stop = lazy(async () => {
    stopping = true;
    await Promise.allSettled([...running.values()].map((part) => part.stop()));
    // Logs of a failure are kept.
    const hasLogs = failed && readdirSync(folder.logs).length > 0;
    for (const path of leftovers) {
      if (!hasLogs || path !== folder.logs)
        rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    }
    try {
      rmdirSync(folder.path);
    } catch {
      // It holds other files: logs of a failure, or the user's own.
    }
    if (failed) guard.release('path', folder.logs);
    await guard.close();
  });
  if (errors.size > 0) {
    await stop();
    throw new StackError(describeErrors(errors, folder), {
      cause: new AggregateError(errors.values()),
    });
  }
  const failure = Promise.withResolvers<{ message: string }>();
  for (const [part, { exited, logFile }] of running) {
    const died = (exit: PartExit) => {
      if (stopping) return;
      failed = true;
      const lines = logFile === undefined ? [] : lastLines(logFile);
      const message = [`${part} is gone: ${describeExit(exit)}`, ...lines].join('\n    ');
      failure.resolve({ message });
    };
    // A container that was removed has no exit code.
    exited.then(died, () => died({ exitCode: null, signal: null }));
  }
  const keepLogs = () => {
    failed = true;
    return folder.logs;
  };
  const address = (name: PartName) => running.get(name)?.address ?? '';
  const pids = (name: PartName) => running.get(name)?.pids ?? [];
  return {
    kafkaBrokers: address('kafka').split(','),
    mongodbUri: address('mongodb'),
    redisUrl: address('redis'),
    sources: [...running.values()].map(({ source }) => source),
    pids: { kafka: pids('kafka'), mongodb: pids('mongodb'), redis: pids('redis') },
    failed: failure.promise,
    keepLogs,
    stop,
  };
}

/**
 * Claims the folder, and empties it unless data is kept.
 * @returns the paths to remove at the end.
 */
async function takeFolder(folder: DataFolder, guard: Guard, keepData: boolean): Promise<string[]> {
  try {
    await claimFolder(folder, guard.pid);
    const data = PARTS.map(({ name }) => folder.part(name));
    // The owner file goes last: while it exists, no other stack starts here.
    const leftovers = keepData ? [folder.ownerFile] : [...data, folder.logs, folder.ownerFile];
    // The pipe keeps this for the guardian even if this process is killed now.
    const held = keepData ? undefined : guard.hold('path', ...leftovers);
    mkdirSync(folder.logs, { recursive: true });
    if (!keepData) for (const path of data) rmSync(path, { recursive: true, force: true });
    await held;
    return leftovers;
  } catch (error) {
    await guard.close();
    throw error;
  }
}

function describeErrors(errors: ReadonlyMap<PartName, unknown>, { logs }: DataFolder): string {
  return [
    'the local stack cannot start:',
    ...PARTS.filter(({ name }) => errors.has(name)).map(
      ({ name }) => `  ${name}: ${reasonOf(errors.get(name))}`,
    ),
    'Any part can also be given by its address (KAFKA_BROKERS, MONGODB_URI, REDIS_URL) or run in a container (start a Docker engine).',
    ...(existsSync(logs) ? [`Logs: ${logs}`] : []),
  ].join('\n');
}

function wordOf<T extends string>(
  name: string,
  wanted: string | undefined,
  words: readonly T[],
): T | undefined {
  if (!wanted) return undefined;
  const word = words.find((known) => known === wanted);
  if (word === undefined)
    throw new StackError(`${name} is ${wanted}, and may be ${words.join(', ')}`);
  return word;
}

/** Whether the part's address is given, and used. */
function isGiven(
  part: PartDefinition,
  forced: PartSource | undefined,
  env: NodeJS.ProcessEnv,
): boolean {
  return (forced ?? 'address') === 'address' && Boolean(env[part.addressVariable]);
}

/** Starts the part from the first source that is there, in the order of SOURCES. */
async function startPart(
  part: PartDefinition,
  forced: PartSource | undefined,
  askForEngine: () => Promise<Engine>,
  context: StartContext,
): Promise<RunningPart> {
  const address = context.env[part.addressVariable] ?? '';
  if (isGiven(part, forced, context.env)) return useAddress(part, address, context);
  if (forced === 'address') throw new StackError(`${part.addressVariable} is not set`);
  const because: string[] = forced === undefined ? [] : [`STACK_SOURCE is ${forced}`];
  if (context.topology === 'cluster') {
    if (forced === 'container')
      throw new StackError('a cluster is made of programs, not of containers');
    because.push('a cluster is made of programs');
  } else if (forced !== 'program') {
    const image = imageOf(part.imageVariable, context.env);
    const findWithImage = async () => {
      const found = await askForEngine();
      await ensureImage(found, image, context.log);
      return found;
    };
    const engine = await findWithImage().catch((error: unknown) => {
      if (forced === 'container') throw error;
      because.push(reasonOf(error));
      return null;
    });
    if (engine !== null) {
      because.push(`a Docker engine answers and has the image ${image}`);
      context.log(`a container, since ${because.join(', ')}`);
      return { source: 'container', ...(await startContainer(part, engine, image, context)) };
    }
  }
  context.log(`a program, since ${because.join(', ')}`);
  const program = await part.locateProgram(context);
  return { source: 'program', ...(await startProgram(part, program, context)) };
}

async function useAddress(
  part: PartDefinition,
  address: string,
  context: StartContext,
): Promise<RunningPart> {
  if (readAddress(address) === null) {
    throw new StackError(`${part.addressVariable} is not an address whose host is certain`);
  }
  context.log(`an address, since ${part.addressVariable} is set`);
  try {
    await part.checkAddress(address);
  } catch (error) {
    const shown = shownAddress(address);
    const why = `${part.addressVariable} is ${shown}, and that does not work: ${reasonOf(error)}`;
    throw new StackError(why, { cause: error });
  }
  return {
    source: 'address',
    address,
    exited: new Promise(() => undefined),
    stop: async () => undefined,
  };
}
