/**
 * Looks up documents for many requests at once: those that wait while a look-up is under way share the next. Every
 * look-up begins after the request that asks for it arrived, so nobody is answered from what was true before.
 */
import type { Collection, Filter } from 'mongodb';
import type { Bounded } from '../deadline.ts';

/** Look-ups that may be under way at the same time: one that a server is slow with shall not hold up the rest. */
const MOST_UNDER_WAY = 1;
const MOST_AT_ONCE = 1_000;

/** The document with an id; `null` where there is none. */
export type LookUp<T> = (id: string) => Promise<T | null>;

interface Waiter<T> {
  resolve: (document: T | null) => void;
  reject: (error: unknown) => void;
}

/** @param bounded ends a look-up that the server keeps; the requests that wait for it have deadlines of their own. */
export function batchedLookUp<T extends { _id: string }>(
  collection: Collection<T>,
  bounded: Bounded,
): LookUp<T> {
  const waiting = new Map<string, Waiter<T>[]>();
  let underWay = 0;
  let scheduled = false;

  const read = async (batch: Map<string, Waiter<T>[]>): Promise<void> => {
    underWay += 1;
    try {
      const filter = { _id: { $in: [...batch.keys()] } } as Filter<T>;
      const documents = await bounded((signal) => collection.find(filter, { signal }).toArray());
      const byId = new Map(documents.map((document) => [document._id as string, document as unknown as T]));
      for (const [id, waiters] of batch) for (const { resolve } of waiters) resolve(byId.get(id) ?? null);
    } catch (error) {
      for (const waiters of batch.values()) for (const { reject } of waiters) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.size > 0) schedule();
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (underWay >= MOST_UNDER_WAY || waiting.size === 0) return;
    const batch = new Map([...waiting].slice(0, MOST_AT_ONCE));
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
