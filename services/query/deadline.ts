/**
 * Reads from MongoDB need deadlines of our own: a frozen server blocks them for ever, and
 * `timeoutMS` has no effect since driver 7.8.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#shared/errors.ts';
import { withTimeLimit } from '#shared/waiting.ts';

/**
 * Runs a read with a deadline. The signal lets the driver drop the work too, `leftMs` lets MongoDB
 * end it. `ends` as of `withTimeLimit`.
 */
export type WithDeadline = <T>(
  read: (signal: AbortSignal, leftMs: number) => Promise<T>,
  ends?: Set<(error: Error) => void>,
) => Promise<T>;

/** How long a start waits for each server; a healthy one answers sooner. */
const STARTUP_TIMEOUT_MS = 2_000;

/** A read gets at least this time, even close to its deadline. */
const MIN_MS = 20;

/** For a read that runs alone: what it costs grows with the store. Clients wait about so long. */
export const LONG_READ_MS = 20_000;

/**
 * Bounds reads that share one deadline, a time of `performance.now()`. A late read fails with
 * `environment_unavailable`.
 */
export function deadlineAt(deadline: number): WithDeadline {
  return (read, ends) => {
    const leftMs = Math.ceil(Math.max(MIN_MS, deadline - performance.now()));
    return withTimeLimit(leftMs, late, (signal) => read(signal, leftMs), ends);
  };
}

const late = () => unavailable('MongoDB did not answer in time');

export function deadlineAfter(timeoutMs: number): WithDeadline {
  return (read, ends) => deadlineAt(performance.now() + timeoutMs)(read, ends);
}

/**
 * The result of work; `undefined` if it takes longer than the startup timeout. It continues then.
 */
export async function withinStartupTimeout<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, sleep(STARTUP_TIMEOUT_MS, undefined, { ref: false })]);
}
