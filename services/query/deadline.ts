/**
 * The deadline of reads from MongoDB. The driver has none: its `timeoutMS` does nothing since 7.8, and a frozen
 * server keeps an operation waiting for as long as it likes.
 */
import { StoreDataError } from '#shared/errors.ts';

/** Runs a read that ends in time; the signal, given to the driver, lets it drop the work too. */
export type Bounded = <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** What is left of a deadline that has nearly passed. */
const LEAST_MS = 20;

/**
 * Makes the bounding of reads that share one deadline, a time of `performance.now()`.
 * Its function rejects with `environment_unavailable` when a read has not ended by then.
 */
export function boundedUntil(deadline: number): Bounded {
  return async (read) => {
    const timeoutMs = Math.max(LEAST_MS, deadline - performance.now());
    const controller = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // Raced, and not left to the signal alone: some waits inside the driver don't listen to it.
    const expired = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = new StoreDataError('environment_unavailable', 'MongoDB did not answer in time');
        controller.abort(error);
        reject(error);
      }, timeoutMs);
    });
    try {
      return await Promise.race([read(controller.signal), expired]);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Makes the bounding of reads that each have the same time. */
export function boundedBy(timeoutMs: number): Bounded {
  return (read) => boundedUntil(performance.now() + timeoutMs)(read);
}
