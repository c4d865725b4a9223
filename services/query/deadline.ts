/**
 * Limits on waiting. Reads from MongoDB need a deadline of ours: the driver's `timeoutMS` does nothing since 7.8, and a frozen
 * server would keep an operation waiting for ever.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#shared/errors.ts';
import { withTimeLimit } from '#shared/waiting.ts';

/** Runs a read that ends in time; the signal, given to the driver, lets it drop the work too. */
export type WithDeadline = <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** How long a start waits for each server; a healthy one answers sooner. */
const STARTUP_TIMEOUT_MS = 2_000;

/** The least time that a read gets, also when its deadline has nearly passed. */
const MIN_MS = 20;

/** Bounds reads that share one deadline, a time of `performance.now()`: `environment_unavailable` when one has not ended by then. */
export function deadlineAt(deadline: number): WithDeadline {
  return (read) => withTimeLimit(Math.max(MIN_MS, deadline - performance.now()), late, read);
}

const late = () => unavailable('MongoDB did not answer in time');

export function deadlineAfter(timeoutMs: number): WithDeadline {
  return (read) => deadlineAt(performance.now() + timeoutMs)(read);
}

/** What work resolves with; `undefined` where it takes longer than a start waits, and continues by itself. */
export async function withinStartupTimeout<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, sleep(STARTUP_TIMEOUT_MS, undefined, { ref: false })]);
}
