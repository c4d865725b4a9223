/** Strategies for records that were updated, and for customers that were created, in a window. */
import type { Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { RANK_TREES, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import { readByRank } from '../rank-tree/by-rank.ts';
import { countFromStamp } from '../rank-tree/read-tree.ts';
import {
  type CountedPage,
  countIn,
  indexScan,
  type PageRow,
  shownOf,
  skippedBy,
  sliceOf,
} from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import {
  inSnapshot,
  type ReadInSnapshot,
  readSnapshot,
  stampIn,
  unionWithStamps,
} from '../read/snapshot.ts';
import { limitsOnly, type ListQuery, type ListStrategy } from './request.ts';
import { indexOf, rankedOf, scanOf } from './scans.ts';

/**
 * A window, or what other conditions find, with more records is not read to be filtered and sorted.
 */
export const MAX_FILTERED = 2_000;

const isUpdated: ListStrategy['suits'] = ({ conditions }) => conditions.updated !== undefined;
const isCreated: ListStrategy['suits'] = ({ conditions }) => conditions.created !== undefined;

/** What was updated in a short window, sorted. */
export const updatedWindow: ListStrategy = {
  suits: isUpdated,
  read: (view, query) =>
    filterFew(view, query, { condition: query.conditions.updated, index: 'by_updated' }),
};

/** What was updated, among few records that the other conditions find. */
export const updatedAmongFew: ListStrategy = {
  suits(query) {
    const { list, facets, stamp } = query;
    const { tree } = list;
    const isFacetSmall = () =>
      tree !== undefined &&
      facets !== null &&
      countFromStamp(stamp, { tree, facets }) <= MAX_FILTERED;
    return isUpdated(query) && (list.isSelective || isCreated(query) || isFacetSmall());
  },
  read: (view, query) =>
    filterFew(view, query, { condition: othersOf(query), index: indexOf(query) }),
};

/** Customers created in a short window, sorted. Their number alone a tree counts faster. */
export const createdWindow: ListStrategy = {
  suits: isCreated,
  read(view, query) {
    const { keyIndex, leafRecords } = BY_CREATION;
    return filterFew(view, query, {
      condition: query.conditions.created,
      index: keyIndex,
      most: limitsOnly(query, 'created') ? leafRecords : MAX_FILTERED,
    });
  },
};

/** All conditions but that on `updated_at`. */
function othersOf({ conditions: { where, facets, search, created } }: ListQuery): Document {
  return { ...where, ...facets, ...search, ...created };
}

interface Filtering {
  /** Finds the records by the index. */
  condition: Document | undefined;
  index: string;
  most?: number;
}

/**
 * Finds records by one condition, then filters and sorts them.
 * @returns `null` if it finds more than `most`.
 */
async function filterFew(
  view: View,
  { list: { entity, sort, sortKey }, match, ...page }: ListQuery,
  { condition, index, most = MAX_FILTERED }: Filtering,
): Promise<CountedPage | null> {
  const coll = COLLECTIONS[entity];
  const examined = [{ $match: { store_id: view.storeId, ...condition } }, { $limit: most + 1 }];
  const filtered = [...examined, { $match: match }];
  const rows = await readSnapshot<PageRow & { count?: number; bound?: number }>(
    view,
    coll,
    [
      ...filtered,
      ...(sortKey?.(view.storeId) ?? []),
      ...sliceOf(sort, page),
      ...shownOf(view, entity),
      ...[examined, filtered].map((pipeline, bound) => ({
        $unionWith: { coll, pipeline: [...pipeline, { $count: 'count' }, { $set: { bound } }] },
      })),
      unionWithStamps(view.storeId),
    ],
    { hint: index },
  );
  const countOf = (bound: number) => countIn(rows.filter((row) => row.bound === bound));
  return countOf(0) > most ? null : { rows, stamp: stampIn(rows), count: countOf(1) };
}

/**
 * What was updated in a window that holds many records, among others of which there are many too.
 * Whatever is examined least is: the window is counted by an index alone, then scanned or sorted.
 */
export const updatedInLong: ListStrategy = {
  suits: isUpdated,
  read: (view, query) => inSnapshot(view, ({ read }) => readLongWindow(read, view, query)),
};

async function readLongWindow(
  read: ReadInSnapshot,
  view: View,
  query: ListQuery,
): Promise<CountedPage> {
  const { match, conditions } = query;
  const ranked = rankedOf(query);
  const { tree } = ranked;
  const count = async (filter: Document | undefined, index: string) => {
    const pipeline = [{ $match: { store_id: view.storeId, ...filter } }, { $count: 'count' }];
    const rows = await read<{ count?: number }>(
      tree.collection,
      [...pipeline, unionWithStamps(view.storeId)],
      index,
    );
    return { count: countIn(rows), stamp: stampIn(rows) };
  };
  const { count: inWindow, stamp } = await count(conditions.updated, 'by_updated');
  const listed = limitsOnly(query, 'facets', 'updated')
    ? countFromStamp(stamp, ranked)
    : (await count(othersOf(query), indexOf(query))).count;
  if (listed <= inWindow) return indexScan(view, { ...scanOf(query), count: null }, read);
  const matching = limitsOnly(query, 'updated')
    ? inWindow
    : (await count(match, 'by_updated')).count;
  const window = { index: 'by_updated', tree, sorted: inWindow };
  return readCounted(read, view, query, { count: matching, stamp, listed, window });
}

const BY_NAME = RANK_TREES.customer;
const BY_CREATION = RANK_TREES.customer_created;

/**
 * A scan by name reads whole customers, a sort of the window only index keys: three of them in the
 * time of one customer.
 */
const KEYS_PER_CUSTOMER = 3;

/**
 * Customers created in a long window, by name. The tree of creation counts them (0033), which
 * decides whether the names are scanned or sorted.
 */
export const createdByName: ListStrategy = {
  suits: (query) => isCreated(query) && limitsOnly(query, 'created'),
  read: (view, query) => inSnapshot(view, ({ read }) => readCreatedByName(read, view, query)),
};

async function readCreatedByName(
  read: ReadInSnapshot,
  view: View,
  query: ListQuery,
): Promise<CountedPage | null> {
  const range = query.created;
  const counting = { tree: BY_CREATION, facets: null, range, page: 1, pageSize: 1 };
  const counted = await readByRank(read, view, counting);
  if (counted === null) return null;
  const { count, stamp } = counted;
  const listed = stamp?.counts?.customer ?? 0;
  const sorted = count / KEYS_PER_CUSTOMER;
  const window = { index: BY_CREATION.keyIndex, tree: BY_NAME, sorted };
  return readCounted(read, view, query, { count, stamp, listed, window });
}

interface Window {
  /** Holds the sort keys too. */
  index: string;
  tree: RankTree;
  /** What sorting it costs, in records of a scan. */
  sorted: number;
}

/** A page of counted matches among the `listed` records: by a scan of these, or sorted. */
async function readCounted(
  read: ReadInSnapshot,
  view: View,
  query: ListQuery,
  { count, stamp, listed, window }: Omit<CountedPage, 'rows'> & { listed: number; window: Window },
): Promise<CountedPage> {
  if (skippedBy(query) >= count) return { rows: [], stamp, count };
  const scanned = ((skippedBy(query) + query.pageSize) * listed) / count;
  if (scanned <= window.sorted)
    return indexScan(view, { ...scanOf(query), count: () => count }, read);
  return { rows: await sortKeys(read, view, window, query), stamp, count };
}

/** Sorts the keys in the index of a window, and reads only the page's records. */
async function sortKeys(
  read: ReadInSnapshot,
  view: View,
  { index, tree: { entity, collection, keyField, keyIndex } }: Window,
  query: ListQuery,
): Promise<PageRow[]> {
  const sorted = [
    { $match: query.match },
    { $project: { _id: 0, key: `$${keyField}` } },
    ...sliceOf({ key: 1 }, query),
  ];
  const keys = await read<{ key: string }>(collection, sorted, index);
  const named = { store_id: view.storeId, [keyField]: { $in: keys.map(({ key }) => key) } };
  return read<PageRow>(
    collection,
    [{ $match: named }, { $sort: { [keyField]: 1 } }, ...shownOf(view, entity)],
    keyIndex,
  );
}
