/**
 * Batches reads: requests that come in one turn of the event loop, or while the maximum of reads is
 * under way, share the next one. A read begins after its requests arrived, so that no answer is
 * older than its request.
 */
import { activeSpan, type Span, tracedTogether } from '#shared/tracing.ts';

/** Reads many at once. What does not exist is missing in the map. */
export type ReadMany<T> = (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

export interface BatchLimits {
  /** Reads that may be under way at the same time: a slow one does not block the others. */
  underWay: number;
  /** Ids of one read. */
  ids: number;
}

/**
 * Reads one; `null` if it does not exist.
 * @param signal abandons the read: after a server hung, requests that still wait come first.
 */
export type ReadOne<T> = (id: string, signal?: AbortSignal) => Promise<T | null>;

interface Waiter<T> {
  span: Span | undefined;
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal | undefined;
}

/**
 * Makes the read of one from that of many. `readMany` must have a deadline; the requests that wait
 * for it may have others.
 */
export function batched<T>(
  readMany: ReadMany<T>,
  { underWay: maxUnderWay, ids: maxIds }: BatchLimits,
): ReadOne<T> {
  const waiting = new Map<string, Waiter<T>[]>();
  let underWay = 0;
  let scheduled = false;

  const read = async (batch: ReadonlyMap<string, readonly Waiter<T>[]>): Promise<void> => {
    underWay += 1;
    try {
      const spans = [...batch.values()].flat().flatMap(({ span }) => span ?? []);
      const ids = [...batch.keys()];
      const isTraced = spans.length > 0 || activeSpan() !== undefined;
      const found = await (isTraced
        ? tracedTogether('shared read', spans, () => readMany(ids))
        : readMany(ids));
      for (const [id, waiters] of batch)
        for (const { resolve } of waiters) resolve(found.get(id) ?? null);
    } catch (error) {
      for (const waiters of batch.values()) for (const { reject } of waiters) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.size > 0) schedule();
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (underWay >= maxUnderWay) return;
    const batch = new Map<string, readonly Waiter<T>[]>();
    for (const [id, waiters] of waiting) {
      if (batch.size === maxIds) break;
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
    // Runs after all requests of this turn of the event loop have arrived.
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

/** Rejects the aborted waiters; returns the others. */
function stillWaiting<T>(waiters: readonly Waiter<T>[]): readonly Waiter<T>[] {
  return waiters.filter(({ reject, signal }) => {
    if (signal?.aborted === true) reject(signal.reason);
    return signal?.aborted !== true;
  });
}
