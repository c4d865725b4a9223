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

function service({ name, env: given, logs, guard, log }: ServiceOptions) {
  const logFile = join(logs, `${name}.log`);
  writeFileSync(logFile, '');
  const stopping = new AbortController();
  let env = given;
  let current: Promise<GuardedProcess> | null = null;
  let watching = Promise.resolve();

  async function launch(): Promise<{ process: GuardedProcess; ready: ReadyLine }> {
    const offset = statSync(logFile).size;
    const args = [join(SERVICES, name, `main${PROGRAM_SUFFIX}`)];
    current = startGuarded(guard, { file: process.execPath, args, env }, logFile);
    const held = await current;
    const limit = AbortSignal.any([stopping.signal, AbortSignal.timeout(READY_LIMIT_MS)]);
    try {
      const ready = await unlessExited(held.exited, (ended) =>
        awaitReadyLine(logFile, offset, AbortSignal.any([ended, limit])),
      );
      return { process: held, ready };
    } catch (error) {
      await held.stop(0);
      const lines = [`${name} did not start: ${reasonOf(error)}`, ...lastLines(logFile)];
      throw new StackError(lines.join('\n    '), { cause: error });
    }
  }

  async function keepRunning(running: GuardedProcess): Promise<void> {
    const how = describeExit(await running.exited);
    if (stopping.signal.aborted) return;
    log(`${name} is gone: ${how}. Starting it again`);
    let again = null;
    while (again === null) {
      if (!(await pause(RESTART_PAUSE_MS, stopping.signal))) return;
      again = await launch().catch(() => null);
    }
    log(`${name} is back`);
    await keepRunning(again.process);
  }

  return {
    /**
     * Resolves when it is ready; from then on it is restarted at the same addresses.
     * @throws {StackError} if it does not start.
     */
    async start(): Promise<ReadyLine> {
      const { process, ready } = await launch();
      env = { ...env, OPERATIONS_PORT: new URL(ready.operations).port };
      if (ready.url !== null) env['QUERY_PORT'] = new URL(ready.url).port;
      watching = keepRunning(process);
      return ready;
    },

    async stop(): Promise<void> {
      stopping.abort();
      const running = await current?.catch(() => null);
      await running?.stop(GRACE_MS);
      await watching;
    },

    /** Kills it; it is restarted. */
    async crash(): Promise<void> {
      await (await current)?.stop(0);
    },
  };
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
    projector: service({ ...options, env, name: 'projector' }),
    query: service({ ...options, env, name: 'query' }),
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
