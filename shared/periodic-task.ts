/** Repeats work until it is stopped, never twice at once. */
import { describeError } from './errors.ts';
import { within } from './tracing.ts';

interface PeriodicWork {
  /** Does it once. @returns the milliseconds until the next run, unless these are `everyMs`. */
  run: (stopped: AbortSignal) => Promise<number | void>;
  everyMs: number;
  /** The pause after a failed run; `everyMs` when absent. */
  retryMs?: number;
  /** Called with an error, once for all equal ones in a row. */
  failed?: (error: string) => void;
}

export class PeriodicTask {
  readonly #work: PeriodicWork;
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;
  #isWoken = false;
  #endPause = () => undefined as void;
  #failure: string | null = null;

  /** Begins at once, or after `delayMs`. */
  constructor(work: PeriodicWork, delayMs = 0) {
    this.#work = work;
    // Its runs are not part of the span that starts it.
    this.#ended = within(undefined, () => this.#repeat(delayMs));
  }

  /** Lets the next run follow without a pause. */
  wake(): void {
    this.#isWoken = true;
    this.#endPause();
  }

  /** Resolves once the run that is under way has ended; none follows it. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#endPause();
    await this.#ended;
  }

  async #repeat(delayMs: number): Promise<void> {
    const { signal } = this.#stopped;
    if (delayMs > 0) await this.#pause(delayMs);
    while (!signal.aborted) {
      this.#isWoken = false;
      const pauseMs = await this.#run(signal);
      if (!this.#isWoken && !signal.aborted) await this.#pause(pauseMs);
    }
  }

  async #run(signal: AbortSignal): Promise<number> {
    const { run, everyMs, retryMs = everyMs, failed } = this.#work;
    try {
      const pauseMs = (await run(signal)) ?? everyMs;
      this.#failure = null;
      return pauseMs;
    } catch (error) {
      const failure = describeError(error);
      if (failure !== this.#failure && !signal.aborted) failed?.(failure);
      this.#failure = failure;
      return retryMs;
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
