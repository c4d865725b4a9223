/** What one request reads from: the records of one store in one generation. */
import { LRUCache } from 'lru-cache';
import type { AggregateOptions, Document } from 'mongodb';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Bounded } from '../deadline.ts';

export interface View {
  storeId: string;
  generation: Generation;
  bounded: Bounded;
}

/**
 * One aggregate is one snapshot and one round trip, also when it unites several collections. A first batch as
 * large as the largest page spares a second trip.
 */
const SNAPSHOT: AggregateOptions = {
  readConcern: { level: 'snapshot' },
  batchSize: 1_000,
  enableUtf8Validation: false,
};

/** Runs one aggregate in a snapshot of its own. */
export async function readSnapshot<T extends Document>(
  { generation, bounded }: View,
  collection: string,
  pipeline: Document[],
): Promise<T[]> {
  return bounded((signal) =>
    generation.db
      .collection(collection)
      .aggregate<T>(pipeline, { ...SNAPSHOT, signal })
      .toArray(),
  );
}

/** The last stage of a snapshot: the store's stamp as it lies there, since a projection would cost as much as the read. */
export function unionWithStamp({ storeId }: View): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId, store_id: storeId } }] } };
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

/** The store's stamp alone; `null` while nothing of the store has arrived. */
export async function readStamp({ storeId, generation, bounded }: View): Promise<Stamp | null> {
  const stamps = generation.db.collection<Stamp>(STAMPS);
  return bounded((signal) => stamps.findOne({ _id: storeId, store_id: storeId }, { signal }));
}

/** The offset in which a store's answers are given. */
export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}

const REMEMBERED_STORES = 10_000;
const lastSeen = new LRUCache<string, string>({ max: REMEMBERED_STORES });

/** The offset that a store had when it was read last: a good guess before it is read again. */
export function guessOffset({ storeId, generation }: View): string {
  return lastSeen.get(`${generation.marker.id}/${storeId}`) ?? DEFAULT_OFFSET;
}

/** Remembers the offset for the next guess. */
export function rememberOffset({ storeId, generation }: View, offset: string): void {
  lastSeen.set(`${generation.marker.id}/${storeId}`, offset);
}
