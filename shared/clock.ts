/** Time as a thing that is handed in: code that waits by it can also run in virtual time. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since some moment. Never goes back. */
  now: () => number;
  /** What the wall clock shows: milliseconds since 1970. */
  wall: () => number;
  /** Resolves after a time, or as soon as the signal is aborted. Never rejects. */
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  sleep: (milliseconds, signal) => wait(milliseconds, undefined, { signal }).catch(() => undefined),
};
