/**
 * Batches reads: requests that come in one turn of the event loop, or while the maximum of reads is
 * under way, share the next one. A read begins after its requests arrived, so that no answer is
 * older than its request.
 */
import { activeSpan, type Span, tracedTogether } from '#shared/tracing.ts';

/** Reads for many requests at once: what each asks for, in their order. */
export type ReadMany<R, T> = (requests: readonly R[]) => Promise<readonly (T | undefined)[]>;

export interface BatchLimits {
  /** Reads that may be under way at the same time: a slow one does not block the others. */
  underWay: number;
  /** Different requests of one read. */
  requests: number;
}

/**
 * Reads one; `null` if it does not exist.
 * @param signal abandons the read: after a server hung, requests that still wait come first.
 */
export type ReadOne<R, T> = (request: R, signal?: AbortSignal) => Promise<T | null>;

interface Waiter<T> {
  span: Span | undefined;
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/** Equal requests, one of which is read, and those who wait for it. */
interface Batched<R, T> {
  request: R;
  waiters: Waiter<T>[];
}

/**
 * Makes the read of one from that of many. `readMany` must have a deadline; the requests that wait
 * for it may have others. @param keyOf equal requests have the same key.
 */
export function batched<R, T>(
  readMany: ReadMany<R, T>,
  { underWay: maxUnderWay, requests: maxRequests }: BatchLimits,
  keyOf: (request: R) => unknown = (request) => request,
): ReadOne<R, T> {
  const waiting = new Map<unknown, Batched<R, T>>();
  let underWay = 0;
  let scheduled = false;

  const read = async (batch: readonly Batched<R, T>[]): Promise<void> => {
    underWay += 1;
    try {
      const spans = batch.flatMap(({ waiters }) => waiters.flatMap(({ span }) => span ?? []));
      const requests = batch.map(({ request }) => request);
      const isTraced = spans.length > 0 || activeSpan() !== undefined;
      const found = await (isTraced
        ? tracedTogether('shared read', spans, () => readMany(requests))
        : readMany(requests));
      for (const [at, { waiters }] of batch.entries())
        for (const { resolve } of waiters) resolve(found[at] ?? null);
    } catch (error) {
      for (const { waiters } of batch) for (const { reject } of waiters) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.size > 0) schedule();
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (underWay >= maxUnderWay) return;
    const batch: Batched<R, T>[] = [];
    for (const [key, { request, waiters }] of waiting) {
      if (batch.length === maxRequests) break;
      waiting.delete(key);
      const present = stillWaiting(waiters);
      if (present.length > 0) batch.push({ request, waiters: present });
    }
    if (waiting.size > 0) schedule();
    if (batch.length > 0) void read(batch);
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    // Runs after all requests of this turn of the event loop have arrived.
    setImmediate(flush);
  };

  return (request, signal) =>
    new Promise((resolve, reject) => {
      const key = keyOf(request);
      const equal = waiting.get(key);
      const waiter = { span: activeSpan(), resolve, reject, signal };
      if (equal === undefined) waiting.set(key, { request, waiters: [waiter] });
      else equal.waiters.push(waiter);
      schedule();
    });
}

/** Rejects the aborted waiters; returns the others. */
function stillWaiting<T>(waiters: Waiter<T>[]): Waiter<T>[] {
  return waiters.filter(({ reject, signal }) => {
    if (signal?.aborted) reject(signal.reason);
    return !signal?.aborted;
  });
}
