/**
 * Waiting: time limits, pauses with a signal, a semaphore, a clock that tests replace, lazy values,
 * batches.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Throws `late()` after `milliseconds`. @param work receives a signal that is aborted when the
 * caller no longer waits. @param ends has, for as long as the work takes, what ends it earlier.
 */
export function withTimeLimit<T>(
  milliseconds: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
  ends?: Set<(error: Error) => void>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const controller = new AbortController();
  const end = (error: Error) => {
    controller.abort(error);
    // Not by the signal alone: not all work listens to it.
    reject(error);
  };
  let isOver = false;
  const expire = () => {
    if (!isOver) end(late());
  };
  // After a long turn of the event loop timers come before the answers that arrived in time.
  const timer = setTimeout(() => setImmediate(expire), milliseconds);
  ends?.add(end);
  const clear = () => {
    isOver = true;
    clearTimeout(timer);
    ends?.delete(end);
  };
  promise.then(clear, clear);
  Promise.try(work, controller.signal).then(resolve, reject);
  return promise;
}

/** Waits; answers false as soon as the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return sleep(milliseconds, true, { signal }).catch(() => false);
}

/** Time as a thing that is handed in: code that waits by it can also run in virtual time. */
export interface Clock {
  now: () => number;
  wall: () => number;
  /** Resolves after a time, or as soon as the signal is aborted. Never rejects. */
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  sleep: (milliseconds, signal) =>
    sleep(milliseconds, undefined, { signal }).catch(() => undefined),
};

/** Makes something when it is first asked for, and only once. */
export function lazy<T>(make: () => T): () => T {
  let made: { it: T } | null = null;
  return () => (made ??= { it: make() }).it;
}

/**
 * Also if one fails: otherwise the rest would keep running unnoticed.
 * @throws the first failure.
 */
export async function allEnded<T>(work: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(work);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

/**
 * A semaphore: so many may work side by side, and the others wait in the order in which they came.
 * @returns a function that takes a permit, and resolves with one that returns it.
 */
export function createSemaphore(permits: number): () => Promise<() => void> {
  let free = permits;
  const waiting: (() => void)[] = [];
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return () => {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    };
  };
}

export async function* inBatches<T>(
  items: AsyncIterable<T> | Iterable<T>,
  size: number,
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
