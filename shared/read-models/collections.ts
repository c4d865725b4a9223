/**
 * The read models: what a document of each collection holds, and its indexes. Every `_id` begins
 * with the store's id, and every filter names the store or a range of such `_id`s, so that no query
 * can cross stores and each is targeted on a sharded cluster (`sharding.ts`).
 */
import type {
  AnyBulkWriteOperation,
  Binary,
  ClientSession,
  Collection,
  Db,
  Document,
  IndexDescription,
} from 'mongodb';
import { hasCode } from '../errors.ts';
import type { EntityName } from '../events/entities.ts';
import { idsBelow } from './rank-tree/keys.ts';
import type { RankNode, Root, TreeName } from './rank-tree/nodes.ts';

export interface ReadModelDocument {
  /** `<store id>/<entity id>`: ordered by id within a store. */
  _id: string;
  store_id: string;
  sequence: number;
  /** The offset for which the date-times in the JSON were made. */
  offset: string;
  /** The finished JSON of the list record. */
  summary: string;
  /** The store's position at its last change: its place in the change feed. */
  feed_position: number;
}

/** A document before it is known which position its change gets. */
export type Unplaced<D extends ReadModelDocument> = Omit<D, 'feed_position'>;

export interface StoreDocument extends ReadModelDocument {
  status: 'active' | 'blocked';
  created_at: Date;
  updated_at: Date;
}

/** The fields by which lists are filtered stand in `shared/records`. */
export interface DatedDocument extends ReadModelDocument {
  /** The finished JSON of the details answer. */
  whole: string;
  created_at: Date;
}

export interface CustomerDocument extends ReadModelDocument {
  /** The folded name, NUL and the id. */
  rank_key: string;
  /** The place in the order of creation. */
  created_key: string;
  document_digits: string;
  /** Letters and digits, in lower case. */
  document_key: string;
  phone_digits: string;
  updated_at: Date;
}

export interface ReviewDocument extends ReadModelDocument {
  rank_key: string;
  /** The filterable values, in one code (`rank-tree/keys.ts`). */
  facet: string;
  customer_id: string | null;
  whole: string;
}

export interface OrderDocument extends ReadModelDocument {
  rank_key: string;
  facet: string;
  customer_id: string | null;
  updated_at: Date;
  /** As JSON, the customer and the fields of the details answer that `summary` lacks. */
  whole: string;
}

/** Details and menu join other records when they are read. */
export interface CategoryDocument extends ReadModelDocument {
  name: string;
  updated_at: Date;
  position: number;
  active: boolean;
  /** Members of the details answer that `summary` lacks, as JSON without braces. */
  dates: string;
}

/** Its option groups are joined when it is read. */
export interface ProductDocument extends ReadModelDocument {
  name: string;
  updated_at: Date;
  position: number;
  active: boolean;
  /** Empty without a category: an index does not distinguish `null` from absent. */
  category_id: string;
  option_group_ids: string[];
  /** Members of the details answer before and after its option groups, as JSON without braces. */
  before_groups: string;
  after_groups: string;
}

export interface OptionGroupDocument extends ReadModelDocument {
  name_key: string;
  /** `summary` with the active options alone, as the menu shows it. */
  active_summary: string;
}

export interface Documents {
  store: StoreDocument;
  coupon: DatedDocument;
  customer: CustomerDocument;
  review: ReviewDocument;
  campaign: DatedDocument;
  order: OrderDocument;
  category: CategoryDocument;
  product: ProductDocument;
  option_group: OptionGroupDocument;
}

/**
 * How many products name a category, whether or not it exists. Without any there is no document.
 */
export interface CategoryProducts {
  /** That of the category; `<store id>/` counts the products without a category. */
  _id: string;
  store_id: string;
  products: number;
}

/**
 * A deleted entity: its version, so that an older event does not bring it back, and its place in
 * the change feed.
 */
export interface Tombstone {
  /** `<entity>/<store id>/<entity id>` */
  _id: string;
  store_id: string;
  entity: EntityName;
  sequence: number;
  feed_position: number;
}

/**
 * One for each store: how many events of each entity were applied. It moves with every applied
 * event, so ETags are made from it.
 */
export type Stamp = {
  _id: string;
  store_id: string;
  /** Absent until the store's own record arrives. */
  timezone_offset?: string;
  /** How many records of each entity there are: the count of a list without filters. */
  counts?: { [E in EntityName]?: number };
  /** How many tombstones of each entity there are. Without any a slice does not read them. */
  tombstones?: { [E in EntityName]?: number };
  ranks?: { [T in TreeName]?: Root };
  /** Whether customers of the store are being erased (`erasures.ts`). */
  erasing?: true;
  /**
   * The last position that was given: every change of a record takes one, in the order in which
   * changes are applied.
   */
  position?: number;
  /** The last position that a record of each entity took. */
  positions?: { [E in EntityName]?: number };
  /** Which epoch gave which positions (`feed-epochs.ts`). */
  epochs?: string;
  /**
   * The partition and end of the slice that wrote it last, by which the watch for changes finds it.
   */
  slice_partition?: number;
  slice_end?: number;
  /**
   * The version of the product list's layout, never the same twice: cached layouts are valid while
   * it is the same.
   */
  layout?: string;
  erased_at?: Date;
} & { [E in EntityName]?: number };

/** A message that could not be applied, kept until an operator decides or it expires. */
export interface DeadLetter {
  _id: string;
  topic: string;
  partition: number;
  /** The first one, for a batch. */
  offset: number;
  reason: string;
  detail: string;
  key: Binary | null;
  headers: { name: string; value: Binary }[];
  /** At most the first MiB. */
  value: Binary | null;
  /** Size of the whole value in bytes. */
  value_bytes: number;
  /** Bytes that are kept of the key, the headers and the value. */
  kept_bytes: number;
  /** Whether a part of the message is not kept: Kafka has it at this offset. */
  cut?: true;
  /**
   * Customers whose data the message may hold: `<store id>/<customer id>`, `<store id>/` for
   * anybody. Absent once one of them is deleted.
   */
  customers?: string[];
  /** The last positions of these customers' stores when the letter was written, by store id. */
  positions?: Record<string, number>;
  /** Nothing of the message is kept, since one of these customers is deleted. */
  erased?: true;
  /** For an unreadable batch: how many offsets it has, and the last one. */
  gathered?: { count: number; last_offset: number };
  /** Identifies the message or the batch. */
  digest: string;
  /** When Kafka took the message. */
  published_at: Date;
  dead_at: Date;
}

export const COLLECTIONS = {
  store: 'stores',
  coupon: 'coupons',
  customer: 'customers',
  review: 'reviews',
  campaign: 'campaigns',
  order: 'orders',
  category: 'categories',
  product: 'products',
  option_group: 'option_groups',
} as const satisfies Record<EntityName, string>;
export const CATEGORY_PRODUCTS = 'category_products';
export const STAMPS = 'stamps';
export const RANK_NODES = 'rank_nodes';
export const TOMBSTONES = 'tombstones';
/** Stores whose own records changed. In the stamps, a mark would conflict with the next slice. */
export const STORE_RECORDS_PENDING = 'store_records_pending';
export const ERASURES = 'erasures';
/** Stores with erasures under way (`shared/projection/erasure/erase.ts`). */
export const REWRITINGS = 'rewritings';
export const DEAD_LETTERS = 'dead_letters';
export const CHECKPOINTS = 'checkpoints';

export const stampsIn = (db: Db): Collection<Stamp> => db.collection(STAMPS);
export const nodesIn = (db: Db): Collection<RankNode> => db.collection(RANK_NODES);
export const tombstonesIn = (db: Db): Collection<Tombstone> => db.collection(TOMBSTONES);
export const lettersIn = (db: Db): Collection<DeadLetter> => db.collection(DEAD_LETTERS);

export function documentId(storeId: string, id: string): string {
  return `${storeId}/${id}`;
}

export function tombstoneId(entity: EntityName, storeId: string, id: string): string {
  return `${entity}/${storeId}/${id}`;
}

/** Writes with one command, in any order; nothing if there are no operations. */
export async function writeAll<D extends Document>(
  collection: Collection<D>,
  operations: readonly AnyBulkWriteOperation<D>[],
  session: ClientSession,
): Promise<void> {
  if (operations.length > 0) await collection.bulkWrite(operations, { session, ordered: false });
}

/** One of several values; one alone is found without an index scan. */
export function oneOf(values: readonly string[]): string | { $in: string[] } {
  const [value] = values;
  return values.length === 1 && value !== undefined ? value : { $in: [...values] };
}

/**
 * The index of `_id`s: a hint for filters that also name the store, so that MongoDB compares no
 * plans.
 */
export const BY_ID = '_id_';

/** Large enough that the documents of a slice come in one round trip. */
export const ONE_BATCH = 100_000;

/**
 * The filter of some documents by their ids. It names their stores, by which they are found on a
 * sharded cluster.
 */
export const documentsWith = (ids: readonly string[]) => ofStores(ids, 0);
export const tombstonesWith = (ids: readonly string[]) => ofStores(ids, 1);

/** @param place which part of an id names the store. */
function ofStores(ids: readonly string[], place: 0 | 1) {
  const stores = new Set(ids.map((id) => id.split('/', place + 1)[place] ?? ''));
  return { store_id: oneOf([...stores]), _id: oneOf(ids) };
}

/** The tombstones of some ids. */
export async function findTombstones(
  db: Db,
  ids: Iterable<string>,
  session?: ClientSession,
): Promise<Tombstone[]> {
  const wanted = [...ids];
  if (wanted.length === 0) return [];
  const options = { hint: BY_ID, batchSize: ONE_BATCH };
  return tombstonesIn(db)
    .find(tombstonesWith(wanted), session === undefined ? options : { ...options, session })
    .toArray();
}

export const idsOfStore = (storeId: string) => idsBelow(storeId);

export function recordsOf(entity: EntityName, storeId: string) {
  // Of stores' own records there is no index by store.
  return { store_id: storeId, ...(entity === 'store' && { _id: idsOfStore(storeId) }) };
}

type Index = IndexDescription & { name: string };

const BY_RANK: Index = { name: 'by_rank', key: { store_id: 1, rank_key: 1 } };
const BY_FACET: Index = { name: 'by_facet', key: { store_id: 1, facet: 1, rank_key: 1 } };
const BY_CUSTOMER_FACET: Index = {
  name: 'by_customer_facet',
  key: { store_id: 1, customer_id: 1, facet: 1, rank_key: 1 },
};
const BY_CUSTOMER: Index = {
  name: 'by_customer',
  key: { store_id: 1, customer_id: 1, rank_key: 1 },
};
const BY_CREATED: Index = { name: 'by_created', key: { store_id: 1, created_at: -1, _id: 1 } };
/**
 * Behind the time, what the list is filtered and sorted by: a window is counted and sorted without
 * its records.
 */
const updatedBefore = (...fields: string[]): Index => ({
  name: 'by_updated',
  key: { store_id: 1, updated_at: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) },
});
const BY_FEED: Index = { name: 'by_feed', key: { store_id: 1, feed_position: 1 } };

export const INDEXES = {
  [COLLECTIONS.store]: [],
  [COLLECTIONS.customer]: [
    BY_RANK,
    { name: 'by_created', key: { store_id: 1, created_key: 1, rank_key: 1 } },
    updatedBefore('created_key', 'rank_key'),
    BY_FEED,
  ],
  [COLLECTIONS.order]: [
    BY_RANK,
    BY_FACET,
    BY_CUSTOMER,
    BY_CUSTOMER_FACET,
    updatedBefore('facet', 'customer_id', 'rank_key'),
    BY_FEED,
  ],
  [COLLECTIONS.coupon]: [BY_CREATED, BY_FEED],
  [COLLECTIONS.review]: [BY_RANK, BY_FACET, BY_CUSTOMER, BY_FEED],
  [COLLECTIONS.campaign]: [BY_CREATED, BY_FEED],
  [COLLECTIONS.category]: [
    { name: 'by_position', key: { store_id: 1, position: 1, name: 1, _id: 1 } },
    BY_FEED,
  ],
  [COLLECTIONS.product]: [
    { name: 'by_category', key: { store_id: 1, category_id: 1, position: 1, name: 1, _id: 1 } },
    updatedBefore('category_id'),
    BY_FEED,
  ],
  [COLLECTIONS.option_group]: [
    { name: 'by_name', key: { store_id: 1, name_key: 1, _id: 1 } },
    BY_FEED,
  ],
  [CATEGORY_PRODUCTS]: [],
  // The one index that does not begin with the store: the watch for changes reads all stores by
  // slice.
  [STAMPS]: [{ name: 'by_slice', key: { slice_partition: 1, slice_end: 1 } }],
  [STORE_RECORDS_PENDING]: [],
  [RANK_NODES]: [],
  [TOMBSTONES]: [{ name: 'by_feed', key: { store_id: 1, entity: 1, feed_position: 1 } }],
  [ERASURES]: [
    { name: 'by_position', key: { store_id: 1, position: 1, _id: 1 } },
    { name: 'by_age', key: { began_at: 1 } },
  ],
  [REWRITINGS]: [],
  [DEAD_LETTERS]: [
    { name: 'by_reason', key: { reason: 1, _id: 1 } },
    { name: 'by_age', key: { topic: 1, dead_at: 1, kept_bytes: 1 } },
    { name: 'by_customer', key: { customers: 1 }, sparse: true },
  ],
  [CHECKPOINTS]: [],
} satisfies Record<string, Index[]>;
export type CollectionName = keyof typeof INDEXES;

const NAMESPACE_EXISTS = 48;

export async function createReadModels(db: Db): Promise<void> {
  const existing = new Set(
    (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name),
  );
  await Promise.all(
    Object.entries(INDEXES).map(async ([name, indexes]) => {
      if (indexes.length > 0) await db.collection(name).createIndexes(indexes);
      else if (!existing.has(name)) {
        await db.createCollection(name).catch((error: unknown) => {
          if (!hasCode(error, NAMESPACE_EXISTS)) throw error;
        });
      }
    }),
  );
}
