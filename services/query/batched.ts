/**
 * Reads for many requests at once: those that are asked for in one turn of the event loop, or while enough reads are under
 * way, share the next. Every read begins after the requests that it is for arrived, so nobody is answered from what was
 * true before.
 */

/** Reads many at once; what is not in the map that it gives does not exist. */
export type ReadMany<T> = (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

export interface BatchLimits {
  /** Reads that may be under way at the same time: one that a server is slow with shall not hold up the rest. */
  underWay: number;
  /** Ids of one read. */
  ids: number;
}

interface Waiter<T> {
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Makes the read of one from that of many. `readMany` has to end by itself, whatever the server does; the requests that
 * wait for it may have deadlines of their own.
 */
export function batched<T>(
  readMany: ReadMany<T>,
  { underWay: mostUnderWay, ids: mostIds }: BatchLimits,
): (id: string) => Promise<T | null> {
  const waiting = new Map<string, Waiter<T>[]>();
  let underWay = 0;
  let scheduled = false;

  const read = async (batch: ReadonlyMap<string, readonly Waiter<T>[]>): Promise<void> => {
    underWay += 1;
    try {
      const found = await readMany([...batch.keys()]);
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
    if (underWay >= mostUnderWay || waiting.size === 0) return;
    const batch = new Map(waiting.size <= mostIds ? waiting : [...waiting].slice(0, mostIds));
    for (const id of batch.keys()) waiting.delete(id);
    if (waiting.size > 0) schedule();
    void read(batch);
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    // After whatever else arrived in this turn of the event loop.
    setImmediate(flush);
  };

  return (id) =>
    new Promise((resolve, reject) => {
      const waiters = waiting.get(id);
      if (waiters === undefined) waiting.set(id, [{ resolve, reject }]);
      else waiters.push({ resolve, reject });
      schedule();
    });
}
