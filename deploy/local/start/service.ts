/** The two services as processes, which are restarted when they die. */
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Guard, type GuardedProcess, lastLines, startGuarded } from '#local/stack/process.ts';
import { describeExit, unlessExited } from '#local/stack/program.ts';
import { reasonOf, StackError } from '#local/stack/part.ts';
import { pause } from '#shared/waiting.ts';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';

interface ServiceOptions {
  name: 'projector' | 'query';
  env: NodeJS.ProcessEnv;
  /** Its output goes to `<name>.log` there. */
  logs: string;
  /** Kills the process when this one is killed. */
  guard: Guard;
  log: (line: string) => void;
}

/** The addresses in a service's log when it is ready. */
interface ReadyLine {
  /** Where its clients reach it; a projector has none. */
  url: string | null;
  operations: string;
}

const SERVICES = join(import.meta.dirname, '../../../services');
const RESTART_PAUSE_MS = 1_000;
const READY_LIMIT_MS = 60_000;
/** For open requests and transactions. */
const GRACE_MS = 10_000;
const POLL_MS = 40;

class Service {
  readonly #options: ServiceOptions;
  readonly #logFile: string;
  readonly #stopping = new AbortController();
  #current: Promise<GuardedProcess> | null = null;
  #watching: Promise<void> = Promise.resolve();
  #env: NodeJS.ProcessEnv;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#env = options.env;
    this.#logFile = join(options.logs, `${options.name}.log`);
    writeFileSync(this.#logFile, '');
  }

  /**
   * Resolves when it is ready; from then on it is restarted at the same addresses.
   * @throws {StackError} if it does not start.
   */
  async start(): Promise<ReadyLine> {
    const { process, ready } = await this.#launch();
    const { port: operationsPort } = new URL(ready.operations);
    const queryPort = ready.url === null ? {} : { QUERY_PORT: new URL(ready.url).port };
    this.#env = { ...this.#env, OPERATIONS_PORT: operationsPort, ...queryPort };
    this.#watching = this.#keepRunning(process);
    return ready;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    const current = await this.#current?.catch(() => null);
    await current?.stop(GRACE_MS);
    await this.#watching;
  }

  /** Kills it; it is restarted. */
  async crash(): Promise<void> {
    await (await this.#current)?.stop(0);
  }

  async #launch(): Promise<{ process: GuardedProcess; ready: ReadyLine }> {
    const { name, guard } = this.#options;
    const offset = statSync(this.#logFile).size;
    const command = {
      file: process.execPath,
      args: [join(SERVICES, name, `main${PROGRAM_SUFFIX}`)],
      env: this.#env,
    };
    this.#current = startGuarded(guard, command, this.#logFile);
    const held = await this.#current;
    const limit = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(READY_LIMIT_MS)]);
    try {
      const ready = await unlessExited(held.exited, (ended) =>
        awaitReadyLine(this.#logFile, offset, AbortSignal.any([ended, limit])),
      );
      return { process: held, ready };
    } catch (error) {
      await held.stop(0);
      const lines = [`${name} did not start: ${reasonOf(error)}`, ...lastLines(this.#logFile)];
      throw new StackError(lines.join('\n    '), { cause: error });
    }
  }

  async #keepRunning(running: GuardedProcess): Promise<void> {
    const { name, log } = this.#options;
    const { signal } = this.#stopping;
    const how = describeExit(await running.exited);
    if (signal.aborted) return;
    log(`${name} is gone: ${how}. Starting it again`);
    let again = null;
    while (again === null) {
      if (!(await pause(RESTART_PAUSE_MS, signal))) return;
      again = await this.#launch().catch(() => null);
    }
    log(`${name} is back`);
    await this.#keepRunning(again.process);
  }
}

/**
 * Starts the projector and the query service, which `cleanup` ends.
 * @param port of the API; 0 is any.
 */
export async function startServices(
  options: Omit<ServiceOptions, 'name'>,
  cleanup: AsyncDisposableStack,
  port = 0,
) {
  const env = { ...options.env, QUERY_PORT: String(port) };
  const services = {
    projector: new Service({ ...options, env, name: 'projector' }),
    query: new Service({ ...options, env, name: 'query' }),
  };
  cleanup.defer(async () => {
    await Promise.all([services.projector.stop(), services.query.stop()]);
  });
  const [projector, query] = await Promise.all([
    services.projector.start(),
    services.query.start(),
  ]);
  if (query.url === null) throw new StackError('the query service does not say where it listens');
  return {
    services,
    url: query.url,
    operations: { query: query.operations, projector: projector.operations },
  };
}

/** Waits for the line in `file` after `offset`, until `signal` aborts. */
async function awaitReadyLine(
  file: string,
  offset: number,
  signal: AbortSignal,
): Promise<ReadyLine> {
  for (;;) {
    signal.throwIfAborted();
    const appended = Buffer.concat(await createReadStream(file, { start: offset }).toArray());
    const lines = appended.toString('latin1').split('\n').slice(0, -1);
    const ready = lines.map(readReadyLine).find((line) => line !== null);
    if (ready) return ready;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Only the last line of a service's start has an operations address. */
function readReadyLine(line: string): ReadyLine | null {
  if (!line.includes('"operations"')) return null;
  try {
    const { operations, url } = JSON.parse(line) as Record<string, unknown>;
    if (typeof operations !== 'string') return null;
    return { url: typeof url === 'string' ? url : null, operations };
  } catch {
    return null;
  }
}
