/** Local time for every record of every answer. */
import type { Db, Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET, offsetMilliseconds } from '#shared/read-models/local-time.ts';

/** Milliseconds that a store's local time is ahead of UTC. */
export type Shift = number;

interface StoreOffset {
  _id: string;
  timezone_offset: string;
}

/** Finds the shift of a store. It is looked up once: stores hardly move, and the usual way has a cache for them. */
export function shifts(db: Db): (storeId: string) => Promise<Shift> {
  const known = new Map<string, Promise<Shift>>();
  const lookUp = async (storeId: string) => {
    const _id = `${storeId}/${storeId}`;
    const store = await db.collection<StoreOffset>(COLLECTIONS.store).findOne({ _id });
    return offsetMilliseconds(store?.timezone_offset ?? DEFAULT_OFFSET);
  };
  return (storeId) => {
    const found = known.get(storeId) ?? lookUp(storeId);
    known.set(storeId, found);
    return found;
  };
}

/** Writes dates of a document that was just decoded as local times. */
export function localize(document: Document, fields: readonly string[], shift: Shift): Document {
  for (const field of fields) {
    const value: unknown = document[field];
    if (value instanceof Date) document[field] = localTime(value, shift);
  }
  return document;
}

export function localTime(date: Date, shift: Shift): string {
  return new Date(date.getTime() + shift).toISOString().slice(0, 19);
}
