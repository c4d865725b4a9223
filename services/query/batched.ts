/**
 * Reads for many requests at once: requests that come in one turn of the event loop, or while enough reads are under way, share the
 * next read. Every read begins after its requests arrived, so that no answer is older than its request.
 */

import { activeSpan, type Span, tracedTogether } from '#shared/tracing.ts';

/** Reads many at once; what is missing in its map does not exist. */
export type ReadMany<T> = (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

export interface BatchLimits {
  /** Reads that may be under way at the same time: a slow one does not hold up the rest. */
  underWay: number;
  /** Ids of one read. */
  ids: number;
}

/**
 * Reads one; `null` where it does not exist.
 * @param signal aborted once the request gave up. Otherwise, after a server hung, all reads of abandoned requests would come before those
 * of requests that still wait.
 */
export type ReadOne<T> = (id: string, signal?: AbortSignal) => Promise<T | null>;

interface Waiter<T> {
  span: Span | undefined;
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/**
 * Makes the read of one from that of many. `readMany` has to end by itself, whatever the server does; the requests that
 * wait for it may have deadlines of their own.
 */
export function batched<T>(readMany: ReadMany<T>, { underWay: mostUnderWay, ids: mostIds }: BatchLimits): ReadOne<T> {
  const waiting = new Map<string, Waiter<T>[]>();
  let underWay = 0;
  let scheduled = false;

  const read = async (batch: ReadonlyMap<string, readonly Waiter<T>[]>): Promise<void> => {
    underWay += 1;
    try {
      const spans = [...batch.values()].flat().flatMap(({ span }) => span ?? []);
      const ids = [...batch.keys()];
      const isTraced = spans.length > 0 || activeSpan() !== undefined;
      const found = await (isTraced ? tracedTogether('shared read', spans, () => readMany(ids)) : readMany(ids));
      for (const [id, waiters] of batch) for (const { resolve } of waiters) resolve(found.get(id) ?? null);
    } catch (error) {
      for (const waiters of batch.values()) for (const { reject } of waiters) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.size > 0) schedule();
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (underWay >= mostUnderWay) return;
    const batch = new Map<string, readonly Waiter<T>[]>();
    for (const [id, waiters] of waiting) {
      if (batch.size === mostIds) break;
      waiting.delete(id);
      const present = stillWaiting(waiters);
      if (present.length > 0) batch.set(id, present);
    }
    if (waiting.size > 0) schedule();
    if (batch.size > 0) void read(batch);
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    // After whatever else arrived in this turn of the event loop.
    setImmediate(flush);
  };

  return (id, signal) =>
    new Promise((resolve, reject) => {
      const waiters = waiting.get(id);
      const waiter = { span: activeSpan(), resolve, reject, signal };
      if (waiters === undefined) waiting.set(id, [waiter]);
      else waiters.push(waiter);
      schedule();
    });
}

/** Those that have not given up; rejects the others. */
function stillWaiting<T>(waiters: readonly Waiter<T>[]): readonly Waiter<T>[] {
  return waiters.filter(({ reject, signal }) => {
    if (signal?.aborted === true) reject(signal.reason);
    return signal?.aborted !== true;
  });
}
