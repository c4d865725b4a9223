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

export type PeriodicTask = ReturnType<typeof startPeriodicTask>;

/** Begins at once, or after `delayMs`. */
export function startPeriodicTask(
  { run, everyMs, retryMs = everyMs, failed }: PeriodicWork,
  delayMs = 0,
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let failure: string | null = null;
  /** Resolved to end the next pause, or the one that is under way. */
  let waking = Promise.withResolvers<void>();

  const runOnce = async () => {
    try {
      const pauseMs = (await run(signal)) ?? everyMs;
      failure = null;
      return pauseMs;
    } catch (error) {
      const before = failure;
      failure = describeError(error);
      if (failure !== before && !signal.aborted) failed?.(failure);
      return retryMs;
    }
  };
  const pause = async (milliseconds: number) => {
    const timer = setTimeout(waking.resolve, milliseconds);
    await waking.promise;
    clearTimeout(timer);
  };
  const repeat = async () => {
    if (delayMs > 0) await pause(delayMs);
    while (!signal.aborted) {
      waking = Promise.withResolvers();
      await pause(await runOnce());
    }
  };
  // Its runs are not part of the span that starts it.
  const ended = within(undefined, repeat);

  return {
    /** Lets the next run follow without a pause. */
    wake: () => waking.resolve(),

    /** Resolves once the run that is under way has ended; none follows it. */
    stop: () => {
      stopping.abort();
      waking.resolve();
      return ended;
    },
  };
}
