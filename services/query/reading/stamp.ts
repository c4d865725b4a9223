/** The stamp of a store: read alone, or beside records in their snapshot. */
import type { Document } from 'mongodb';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { ReadOne } from '../batched.ts';
import type { Bounded } from '../deadline.ts';

/** The last stage of a snapshot: the store's stamp as it lies there, since a projection would cost as much as the read. */
export function unionWithStamp({ storeId }: { storeId: string }): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } };
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

/** What the stamp of a store is read with. */
export interface StampView {
  storeId: string;
  bounded: Bounded;
  shared: { stamp: ReadOne<Stamp> };
}

/** The store's stamp alone; `null` while nothing of the store has arrived. */
export async function readStamp({ storeId, bounded, shared }: StampView): Promise<Stamp | null> {
  return bounded((signal) => shared.stamp(storeId, signal));
}

/** The offset in which a store's answers are given. */
export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}
