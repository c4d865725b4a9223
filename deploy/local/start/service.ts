/** One of our own services as a process: started, watched, started again when it dies, ended. */
import { statSync, writeFileSync } from 'node:fs';
import type { Guard } from '#local/stack/program/guard.ts';
import { type GuardedProcess, startGuarded } from '#local/stack/program/guarded-process.ts';
import { lastLines } from '#local/stack/program/log-tail.ts';
import { describeExit } from '#local/stack/program/start.ts';
import { pause } from '#shared/pause.ts';
import { StackError } from '#local/stack/errors.ts';
import { awaitReadyLine, type ReadyLine } from './ready-line.ts';

export interface ServiceOptions {
  name: string;
  file: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Kills the process should this one be killed. */
  guard: Guard;
  log: (line: string) => void;
  /** Pause before it is started again, doubled each time in a row. */
  firstPauseMs?: number;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** Who has lived so long starts again without a grudge. */
const STEADY_MS = 30_000;
const READY_LIMIT_MS = 60_000;
/** For the requests and transactions that are under way. */
const GRACE_MS = 10_000;

export class Service {
  readonly #options: ServiceOptions;
  readonly #stopping = new AbortController();
  #current: Promise<GuardedProcess> | null = null;
  #watching: Promise<void> = Promise.resolve();
  #env: NodeJS.ProcessEnv;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#env = options.env;
    writeFileSync(options.logFile, '');
  }

  /** Resolves when it is ready; from then on it is kept running, at the same addresses. @throws {StackError} otherwise. */
  async start(): Promise<ReadyLine> {
    const { process, ready } = await this.#launch();
    const ports = { OPERATIONS_PORT: new URL(ready.operations).port };
    const queryPort = ready.url === null ? {} : { QUERY_PORT: new URL(ready.url).port };
    this.#env = { ...this.#env, ...ports, ...queryPort };
    this.#watching = this.#watch(process);
    return ready;
  }

  /** The process that runs now. */
  async pid(): Promise<number | null> {
    return (await this.#current)?.pid ?? null;
  }

  /** Ends it. May be called at any time, even while it starts. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const current = await this.#current?.catch(() => null);
    await current?.stop(GRACE_MS);
    await this.#watching;
  }

  async #launch(): Promise<{ process: GuardedProcess; ready: ReadyLine }> {
    const { name, file, logFile, guard } = this.#options;
    const offset = statSync(logFile).size;
    this.#current = startGuarded(guard, { file: process.execPath, args: [file], env: this.#env }, logFile);
    const held = await this.#current;
    const waiting = new AbortController();
    const signal = AbortSignal.any([
      waiting.signal,
      this.#stopping.signal,
      AbortSignal.timeout(READY_LIMIT_MS),
    ]);
    const died = held.exited.then((exit) => Promise.reject(new Error(describeExit(exit))));
    try {
      return { process: held, ready: await Promise.race([awaitReadyLine(logFile, offset, signal), died]) };
    } catch (error) {
      await held.stop(0);
      const reason = error instanceof Error ? error.message : String(error);
      throw new StackError([`${name} did not start: ${reason}`, ...lastLines(logFile)].join('\n    '), {
        cause: error,
      });
    } finally {
      waiting.abort();
    }
  }

  async #watch(first: GuardedProcess): Promise<void> {
    const { name, log, firstPauseMs = FIRST_PAUSE_MS } = this.#options;
    const { signal } = this.#stopping;
    let running: GuardedProcess | null = first;
    let since = Date.now();
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      let how = 'it did not become ready';
      if (running !== null) {
        how = describeExit(await running.exited);
        if (Date.now() - since > STEADY_MS) pauseMs = firstPauseMs;
      }
      if (signal.aborted) return;
      log(`${name} is gone: ${how}. Starting it again in ${pauseMs / 1_000} s`);
      if (!(await pause(pauseMs, signal))) return;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      since = Date.now();
      running = await this.#launch().then(
        ({ process }) => process,
        () => null,
      );
      if (running !== null) log(`${name} is back`);
    }
  }
}
