/**
 * The deadline of reads from MongoDB. The driver has none: its `timeoutMS` does nothing since 7.8, and a frozen
 * server keeps an operation waiting for as long as it likes.
 */
import { StoreDataError } from '#shared/errors.ts';
import { withTimeLimit } from '#shared/time-limit.ts';

/** Runs a read that ends in time; the signal, given to the driver, lets it drop the work too. */
export type Bounded = <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** What is left of a deadline that has nearly passed. */
const LEAST_MS = 20;

/**
 * Makes the bounding of reads that share one deadline, a time of `performance.now()`.
 * Its function rejects with `environment_unavailable` when a read has not ended by then.
 */
export function boundedUntil(deadline: number): Bounded {
  return (read) => withTimeLimit(Math.max(LEAST_MS, deadline - performance.now()), late, read);
}

function late(): StoreDataError {
  return new StoreDataError('environment_unavailable', 'MongoDB did not answer in time');
}

/** Makes the bounding of reads that each have the same time. */
export function boundedBy(timeoutMs: number): Bounded {
  return (read) => boundedUntil(performance.now() + timeoutMs)(read);
}
