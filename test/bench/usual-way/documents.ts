/** The usual documents, indexes and local times, in a separate database. */
import type { Db, Document, IndexDescription, MongoClient } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { digitsOf, foldName } from '#shared/read-models/search-texts.ts';
import { DEFAULT_OFFSET, offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { type BenchStore, chunksOf, type StoreRecord } from '../query/stores.ts';

/** The counterparts of the read models' indexes. */
const INDEXES: Record<string, IndexDescription['key'][]> = {
  [COLLECTIONS.customer]: [
    // Includes the numbers, so that a search only reads this index.
    { store_id: 1, name_key: 1, _id: 1, document_digits: 1, phone_digits: 1 },
    { store_id: 1, created_at: 1 },
    { store_id: 1, updated_at: 1 },
  ],
  [COLLECTIONS.order]: [
    { store_id: 1, created_at: -1, _id: 1 },
    { store_id: 1, status: 1, order_type: 1, created_at: -1, _id: 1 },
    { store_id: 1, 'customer.id': 1, created_at: -1, _id: 1 },
    { store_id: 1, updated_at: 1 },
  ],
  [COLLECTIONS.review]: [
    { store_id: 1, created_at: -1, _id: 1 },
    { store_id: 1, rating: 1, created_at: -1, _id: 1 },
  ],
  [COLLECTIONS.category]: [{ store_id: 1, position: 1, name: 1, _id: 1 }],
  [COLLECTIONS.product]: [
    { store_id: 1, category_position: 1, position: 1, name: 1, _id: 1 },
    { store_id: 1, category_id: 1, category_position: 1, position: 1, name: 1, _id: 1 },
  ],
  [COLLECTIONS.option_group]: [{ store_id: 1 }],
};

/** Documents per insert. */
const CHUNK = 1_000;

/** Writes the stores' documents and then their indexes; calls `inserted` for every chunk. */
export async function fillDocuments(
  db: Db,
  stores: readonly BenchStore[],
  inserted: (records: number) => void,
): Promise<void> {
  for (const { storeId, records } of stores) {
    const positions = new Map<string, number>();
    for (const chunk of chunksOf(records, CHUNK)) {
      for (const record of chunk) {
        if (record.entity === 'category') positions.set(record.id, record.state.position);
      }
      for (const [entity, ofEntity] of Map.groupBy(chunk, (record) => record.entity)) {
        const documents = ofEntity.map((record) => documentOf(storeId, record, positions));
        await db
          .collection<StoredDocument>(COLLECTIONS[entity])
          .insertMany(documents, { ordered: false });
      }
      inserted(chunk.length);
    }
  }
  for (const [name, keys] of Object.entries(INDEXES)) {
    await db.collection(name).createIndexes(keys.map((key) => ({ key })));
  }
}

type StoredDocument = Document & { _id: string };

function documentOf(
  storeId: string,
  record: StoreRecord,
  positions: ReadonlyMap<string, number>,
): StoredDocument {
  const { id, state } = record;
  return {
    _id: `${storeId}/${id}`,
    store_id: storeId,
    id,
    ...(withDates(state) as object),
    ...derived(record, positions),
  };
}

function derived({ entity, state }: StoreRecord, positions: ReadonlyMap<string, number>): object {
  if (entity === 'customer') {
    return {
      name_key: foldName(state.name),
      document_digits: digitsOf(state.document ?? ''),
      phone_digits: digitsOf(state.phone ?? ''),
    };
  }
  if (entity === 'order')
    return { item_count: state.items?.reduce((sum, { quantity }) => sum + quantity, 0) };
  return entity === 'product' ? { category_position: positions.get(state.category_id ?? '') } : {};
}

const DATE_FIELD = /^(?:at|scheduled_for|.+_at)$/;

/** The value with dates instead of instant texts. */
function withDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDates);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      field,
      typeof inner === 'string' && DATE_FIELD.test(field) ? new Date(inner) : withDates(inner),
    ]),
  );
}

export function usualWayDatabase(client: MongoClient, prefix: string): Db {
  return client.db(`${prefix}_usual_way`);
}

/** The milliseconds by which a store's local time is ahead of UTC. */
export type Shift = number;

/** Finds the shift of a store once: stores hardly move, so that a usual service would cache it. */
export function shifts(db: Db): (storeId: string) => Promise<Shift> {
  const known = new Map<string, Promise<Shift>>();
  const lookUp = async (storeId: string) => {
    const store = await db.collection(COLLECTIONS.store).findOne({ store_id: storeId });
    return offsetMilliseconds(store?.['timezone_offset'] ?? DEFAULT_OFFSET);
  };
  return (storeId) => {
    const found = known.get(storeId) ?? lookUp(storeId);
    known.set(storeId, found);
    return found;
  };
}

/** Replaces dates of a decoded document by local times, also inside of its objects. */
export function localize(document: Document, shift: Shift): Document {
  for (const [field, value] of Object.entries<unknown>(document)) {
    if (value instanceof Date) document[field] = localTime(value, shift);
    else if (typeof value === 'object' && value !== null) localize(value, shift);
  }
  return document;
}

export function localTime(date: Date, shift: Shift): string {
  return new Date(date.getTime() + shift).toISOString().slice(0, 19);
}
