/** Looks up documents of the control database by their ids, for many requests at once. */
import type { Collection, Filter } from 'mongodb';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import type { Bounded } from '../deadline.ts';

const LIMITS: BatchLimits = { underWay: 1, ids: 1_000 };

/** The document with an id; `null` where there is none. */
export type LookUp<T> = ReadOne<T>;

/** @param bounded ends a look-up that the server keeps; the requests that wait for it have deadlines of their own. */
export function batchedLookUp<T extends { _id: string }>(
  collection: Collection<T>,
  bounded: Bounded,
): LookUp<T> {
  return batched(async (ids) => {
    const filter = { _id: { $in: [...ids] } } as Filter<T>;
    const documents = await bounded((signal) => collection.find(filter, { signal }).toArray());
    return new Map(documents.map((document) => [document._id as string, document as unknown as T]));
  }, LIMITS);
}
