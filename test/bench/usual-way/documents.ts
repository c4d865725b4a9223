/**
 * The documents of the usual way: one for each record with the fields that answers show, dates as dates, and the
 * derived fields without which no list could be filtered and sorted by an index.
 */
import type { Db, Document, IndexDescription } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/folding.ts';
import type { BenchStore, StoreRecord } from '../query/stores/record.ts';

/** The counterparts of the read models' indexes. */
const INDEXES: Record<string, IndexDescription['key'][]> = {
  [COLLECTIONS.customer]: [
    { store_id: 1, name_key: 1, _id: 1 },
    { store_id: 1, created_at: 1 },
    { store_id: 1, updated_at: 1 },
  ],
  [COLLECTIONS.order]: [
    { store_id: 1, created_at: -1, _id: 1 },
    { store_id: 1, 'customer.id': 1, created_at: -1, _id: 1 },
    { store_id: 1, updated_at: 1 },
  ],
  [COLLECTIONS.coupon]: [{ store_id: 1, created_at: -1, _id: 1 }],
  [COLLECTIONS.review]: [{ store_id: 1, created_at: -1, _id: 1 }],
  [COLLECTIONS.campaign]: [{ store_id: 1, created_at: -1, _id: 1 }],
  [COLLECTIONS.category]: [{ store_id: 1, position: 1, name: 1, _id: 1 }],
  [COLLECTIONS.product]: [
    { store_id: 1, category_position: 1, position: 1, name: 1, _id: 1 },
    { store_id: 1, category_id: 1, category_position: 1, position: 1, name: 1, _id: 1 },
  ],
  [COLLECTIONS.option_group]: [{ store_id: 1, name_key: 1, _id: 1 }],
};

/** Writes the stores' documents and their indexes. */
export async function fillDocuments(db: Db, stores: readonly BenchStore[]): Promise<void> {
  for (const { storeId, records } of stores) {
    const positions = new Map(
      records.flatMap((record) =>
        record.entity === 'category' ? [[record.id, record.state.position] as const] : [],
      ),
    );
    for (const [entity, ofEntity] of Map.groupBy(records, (record) => record.entity)) {
      const documents = ofEntity.map((record) => documentOf(storeId, record, positions));
      await db.collection(COLLECTIONS[entity]).insertMany(documents, { ordered: false });
    }
  }
  for (const [name, keys] of Object.entries(INDEXES)) {
    await db.collection(name).createIndexes(keys.map((key) => ({ key })));
  }
}

function documentOf(storeId: string, record: StoreRecord, positions: ReadonlyMap<string, number>): Document {
  const { id, state } = record;
  return {
    _id: `${storeId}/${id}`,
    store_id: storeId,
    id,
    ...(withDates(state) as object),
    ...derived(record, positions),
  };
}

function derived(record: StoreRecord, positions: ReadonlyMap<string, number>): object {
  if (record.entity === 'customer') {
    const { name, document, phone } = record.state;
    return {
      name_key: foldName(name),
      document_digits: digitsOf(document ?? ''),
      document_key: alphanumericOf(document ?? ''),
      phone_digits: digitsOf(phone ?? ''),
    };
  }
  if (record.entity === 'order') {
    return { item_count: (record.state.items ?? []).reduce((sum, { quantity }) => sum + quantity, 0) };
  }
  if (record.entity === 'product') {
    return { category_position: positions.get(record.state.category_id ?? '') };
  }
  return record.entity === 'option_group' ? { name_key: foldName(record.state.name) } : {};
}

const DATE_FIELD = /^(?:at|scheduled_for|.+_at)$/;

/** The same value with dates where it has texts of instants. */
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
