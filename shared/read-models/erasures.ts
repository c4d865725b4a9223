/**
 * Erasures of customers whom many records name. Readers mask such a customer in records up to the
 * erasure's position.
 */
import type { ClientSession, Collection, Db } from 'mongodb';
import type { EntityName } from '../events/entities.ts';
import {
  COLLECTIONS,
  documentId,
  ERASURES,
  idsOfStore,
  type OrderDocument,
  type ReviewDocument,
} from './collections.ts';

export interface Erasure {
  _id: string;
  store_id: string;
  /** The last position that the store had given before the deletion. */
  position: number;
  /** The partition whose slice held the deletion: its owner continues the erasure. */
  partition: number;
  began_at: Date;
  /** How far the rewriting is; absent at the beginning. */
  done?: ErasureProgress;
}

export const erasuresIn = (db: Db): Collection<Erasure> => db.collection(ERASURES);

/** A collection, and the sort key of the last of its documents that was read. */
export interface ErasureProgress {
  collection: string;
  after: string;
}

export const NAMING_CUSTOMERS = ['order', 'review'] as const satisfies EntityName[];

/** Whether the records of an entity name customers. */
export function namesCustomers(entity: EntityName): boolean {
  return NAMING_CUSTOMERS.some((naming) => naming === entity);
}

export function collectionNamesCustomers(collection: string): boolean {
  return NAMING_CUSTOMERS.some((entity) => COLLECTIONS[entity] === collection);
}

export type NamingDocument = OrderDocument | ReviewDocument;

/** The JSON of an order or a review, summary or details, with only the id of its customer. */
export function withoutCustomer(json: string): string {
  const record = JSON.parse(json) as {
    customer?: { id: string } | null;
    customer_name?: string | null;
  };
  if ('customer_name' in record) record.customer_name = null;
  if (record.customer !== undefined && record.customer !== null) {
    const { id, ...said } = record.customer;
    record.customer = { id, ...Object.fromEntries(Object.keys(said).map((name) => [name, null])) };
  }
  return JSON.stringify(record);
}

/** Summary and details of a document without its customer; `null` if that changes nothing. */
export function erasedJson({
  summary,
  whole,
}: Pick<NamingDocument, 'summary' | 'whole'>): { summary: string; whole: string } | null {
  const erased = { summary: withoutCustomer(summary), whole: withoutCustomer(whole) };
  return erased.summary === summary && erased.whole === whole ? null : erased;
}

/**
 * Documents of one collection as they may be shown, read in the session's snapshot or transaction.
 */
export async function withoutErased<D extends { _id: string }>(
  db: Db,
  session: ClientSession,
  collection: string,
  documents: readonly D[],
): Promise<readonly D[]> {
  if (!collectionNamesCustomers(collection)) return documents;
  const naming = documents as readonly (D & NamingDocument)[];
  const positions = await erasurePositions(
    db,
    session,
    naming.flatMap(({ store_id, customer_id }) =>
      customer_id === null ? [] : [documentId(store_id, customer_id)],
    ),
  );
  if (positions.size === 0) return documents;
  return naming.map((document) => {
    const { store_id, customer_id, feed_position } = document;
    const upTo = positions.get(documentId(store_id, customer_id ?? '')) ?? -1;
    return feed_position <= upTo ? { ...document, ...erasedJson(document) } : document;
  });
}

/**
 * The positions of current erasures of some customers (`<store id>/<customer id>`); of anybody
 * (`<store id>/`, `/`) the highest one.
 */
export async function erasurePositions(
  db: Db,
  session: ClientSession,
  customers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (customers.length === 0) return new Map();
  const ofAnybody: [string, number][] = [];
  for (const anybody of new Set(customers.filter((customer) => customer.endsWith('/')))) {
    const storeId = anybody.slice(0, -1);
    const filter = storeId === '' ? {} : { store_id: storeId, _id: idsOfStore(storeId) };
    const newest = await erasuresIn(db).findOne(filter, {
      session,
      sort: { position: -1 },
      projection: { position: 1 },
    });
    if (newest !== null) ofAnybody.push([anybody, newest.position]);
  }
  const found = await erasuresIn(db)
    .find(
      { _id: { $in: [...new Set(customers)] } },
      { session, projection: { position: 1 }, batchSize: 10_000 },
    )
    .toArray();
  return new Map([...ofAnybody, ...found.map(({ _id, position }) => [_id, position] as const)]);
}
