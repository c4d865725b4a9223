/** Reads a page of a list with the first strategy of its plan that does not give up. */
import type { Document } from 'mongodb';
import { isDocumentTooLarge } from '#shared/errors.ts';
import { COLLECTIONS, oneOf, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import type { BatchLimits } from '../batched.ts';
import { estimate, estimatedCount, readByRank, readRanked } from '../rank-tree/by-rank.ts';
import { countFromStamp, indexFor, keyWithin, type RankedRequest } from '../rank-tree/read-tree.ts';
import {
  ALL,
  type CountedPage,
  countIn,
  foundPage,
  indexScan,
  PAGE_FIELDS,
  type PageRequest,
  type PageRow,
  skippedBy,
  sliceOf,
} from '../read/page.ts';
import { readTogether, type View } from '../read/shared-reads.ts';
import {
  type Found,
  inSnapshot,
  lastStamp,
  offsetOf,
  type ReadInSnapshot,
  readSnapshot,
  type Source,
} from '../read/snapshot.ts';
import { type Conditions, conditionsOf, type ListRequest, type ListStrategy, planList } from './plan.ts';
import { readByLayout, readUpdatedByLayout } from './products.ts';
import { readSearched } from './search.ts';

/** A request with its conditions in the store's offset. */
interface ListQuery {
  view: View;
  request: ListRequest;
  conditions: Conditions;
}

/** The answer of a list. Filters by date-time are local: the page is read with the cached offset, and again if the snapshot has another. */
export async function readList(view: View, request: ListRequest): Promise<Found> {
  const { storeId, shared, redactErased } = view;
  let stamp = lastStamp(view, storeId);
  for (;;) {
    const offset = offsetOf(stamp);
    const shift = offsetMilliseconds(offset);
    let dated = false;
    const conditions = conditionsOf(storeId, request, (local) => {
      dated = true;
      return local - shift;
    });
    const plan = planList(request, { conditions, stamp, redactErased });
    const page = await runPlan(plan, { view, request, conditions });
    ({ stamp } = page);
    if (dated && offsetOf(stamp) !== offset) continue;
    const answer = () => foundPage(page, request);
    return page.isShared === true ? shared.answerOf(page.rows, request.pageSize, answer) : answer();
  }
}

async function runPlan(plan: readonly ListStrategy[], query: ListQuery): Promise<CountedPage> {
  for (const strategy of plan) {
    const page = await STRATEGIES[strategy](query);
    if (page !== null) return page;
  }
  throw new Error(`no strategy of ${plan.join()} read the list`);
}

/** Each returns `null` where it gives up. */
const STRATEGIES: Record<ListStrategy, (query: ListQuery) => Promise<CountedPage | null>> = {
  'shared-first-page': readSharedFirstPage,
  'scan-first-pages': scanFirstPages,
  layout: ({ view, request }) => readByLayout(view, request),
  'updated-window': ({ view, request, conditions }) => sortTimeWindow(view, request, conditions.match, 'by_updated'),
  'layout-updated': ({ view, request, conditions }) => readUpdatedByLayout(view, request, conditions.updated),
  'created-window': ({ view, request, conditions }) => sortTimeWindow(view, request, conditions.match, 'by_created'),
  'created-within-leaf': ({ view, request, conditions }) =>
    sortTimeWindow(view, request, conditions.match, 'by_created', request.tree?.leafRecords),
  'created-by-name': ({ view, request, conditions }) =>
    inSnapshot(view, ({ read }) => readCreatedByName(read, view, conditions.created, request)),
  'search-leaves': async ({ view, request: { search, ...page } }) =>
    search === null ? null : readSearched(view, search, page),
  'scan-if-shown': readIfShown,
  'scan-if-small': scanSmallRange,
  'rank-tree': ({ view, request, conditions }) => readRanked(view, rankedOf(request), conditions.created),
  'scan-tree-order': ({ view, request, conditions: { match } }) =>
    indexScan(view, { ...request, match, index: indexFor(rankedOf(request)), count: ALL }),
  scan: ({ view, request, conditions: { match } }) =>
    indexScan(view, { ...request, match, index: request.selectiveIndex, count: ALL }),
};

/** Pages of one length that are read together. */
const TOGETHER: BatchLimits = { underWay: 4, ids: 16 };

async function readSharedFirstPage({ view, request }: ListQuery): Promise<CountedPage | null> {
  const { storeId, shared, withDeadline } = view;
  const { entity, pageSize } = request;
  const read = shared.together(`${entity}/${pageSize}`, TOGETHER, (ids) => readFirstPages(shared.source, request, ids));
  try {
    const first = await withDeadline((signal) => read(storeId, signal));
    // A store of which nothing has arrived has no stamp.
    return first ?? { rows: [], stamp: null, count: 0 };
  } catch (error) {
    // The error does not say whose page is too large: each store's is read alone.
    if (isDocumentTooLarge(error)) return null;
    throw error;
  }
}

async function readFirstPages(
  source: Source,
  { entity, sort, pageSize }: ListRequest,
  storeIds: readonly string[],
): Promise<Map<string, CountedPage>> {
  const lookup = {
    from: COLLECTIONS[entity],
    localField: '_id',
    foreignField: 'store_id',
    // A lookup takes no hint. MongoDB's trials choose the index in the order of the list, since all others must sort the whole store.
    pipeline: [{ $sort: sort }, { $limit: pageSize }, PAGE_FIELDS],
    as: 'page',
  };
  const stages = [{ $match: { _id: oneOf(storeIds) } }, { $lookup: lookup }];
  const kind = `${entity}/${pageSize}`;
  const found = await readSnapshot<Stamp & { page: PageRow[] }>(source, STAMPS, stages, { kind });
  return new Map(
    found.map(({ page: rows, ...stamp }) => {
      return [stamp._id, { rows, stamp, count: stamp.counts?.[entity] ?? 0, isShared: true }];
    }),
  );
}

/** The first page, if it shows all that match: then nothing has to be counted. */
async function readIfShown({ view, request, conditions: { match } }: ListQuery): Promise<CountedPage | null> {
  const { entity, sort, pageSize } = request;
  const index = request.selectiveIndex ?? indexFor(rankedOf(request));
  const pipelines = [[{ $match: match }, { $sort: sort }, { $limit: pageSize + 1 }]];
  const found = await readTogether(view, { entity, index, pipelines });
  return found.rows.length > pageSize ? null : { ...found, count: found.rows.length };
}

async function scanFirstPages({ view, request, conditions: { match } }: ListQuery): Promise<CountedPage> {
  const { tree, entity, sort } = request;
  if (tree === null) return indexScan(view, { ...request, match, count: (stamp) => stamp?.counts?.[entity] ?? 0 });
  const ranked = { ...request, tree };
  const pipelines = [[{ $match: match }, ...sliceOf(sort, request)]];
  const found = await readTogether(view, { entity, index: indexFor(ranked), pipelines });
  return { ...found, count: countFromStamp(found.stamp, ranked) };
}

/** Gives up at once if cached nodes of the tree say that the range is large. */
async function scanSmallRange({ view, request, conditions }: ListQuery): Promise<CountedPage | null> {
  const ranked = rankedOf(request);
  const { leafRecords, entity } = ranked.tree;
  if (estimatedCount(estimate(view, ranked, conditions.created)) > leafRecords) return null;
  const matching = { $match: conditions.match };
  const pipelines = [
    [matching, ...sliceOf(request.sort, request)],
    [matching, { $limit: leafRecords + 1 }, { $count: 'count' }],
  ];
  const found = await readTogether(view, { entity, index: indexFor(ranked), pipelines });
  const count = countIn(found.rows);
  return count > leafRecords ? null : { ...found, count };
}

function rankedOf(request: ListRequest): RankedRequest {
  if (request.tree === null) throw new Error(`lists of ${request.entity} have no rank tree`);
  return { ...request, tree: request.tree };
}

/** A window with more records is long. */
const MAX_WINDOW_RECORDS = 2_000;

/**
 * What was updated or created in a time window, in an order that is not by time. The index of the window finds it; then it is sorted.
 * @returns `null` for a long window.
 */
async function sortTimeWindow(
  view: View,
  request: ListRequest,
  match: Document,
  index: 'by_updated' | 'by_created',
  most = MAX_WINDOW_RECORDS,
): Promise<CountedPage | null> {
  const found = await indexScan(view, { ...request, match, index, unsorted: request.sortKeyStages, count: most + 1 });
  return found.count > most ? null : found;
}

const BY_NAME = RANK_TREES.customer;
const BY_CREATION = RANK_TREES.customer_created;

/** A scan by name reads whole customers, a sort of the window only index keys: three of them in the time of one customer. */
const KEYS_PER_CUSTOMER = 3;

/** The customers created in a long window, by name. Their number is known first, and decides whether the names are scanned or sorted. */
async function readCreatedByName(
  read: ReadInSnapshot,
  view: View,
  window: KeyRange,
  request: PageRequest,
): Promise<CountedPage> {
  const counting = { tree: BY_CREATION, facets: null, page: 1, pageSize: 1 };
  const { count, stamp } = await readByRank(read, view, counting, window);
  if (skippedBy(request) >= count) return { rows: [], stamp, count };
  const all = stamp?.counts?.customer ?? 0;
  const scanned = ((skippedBy(request) + request.pageSize) * all) / count;
  const match = { store_id: view.storeId, ...keyWithin(BY_CREATION.keyField, window) };
  if (count <= scanned * KEYS_PER_CUSTOMER) return { rows: await sortNames(read, view, match, request), stamp, count };
  const { entity, keyField, keyIndex: index } = BY_NAME;
  return indexScan(view, { ...request, entity, match, sort: { [keyField]: 1 }, index, count: () => count }, read);
}

/** Sorts the names in the index of the window, and reads only the page's customers. */
async function sortNames(
  read: ReadInSnapshot,
  { storeId }: View,
  match: Document,
  request: PageRequest,
): Promise<PageRow[]> {
  const { collection, keyField, keyIndex } = BY_NAME;
  const sorted = [{ $match: match }, { $project: { _id: 0, key: `$${keyField}` } }, ...sliceOf({ key: 1 }, request)];
  const keys = await read<{ key: string }>(collection, sorted, BY_CREATION.keyIndex);
  const named = { store_id: storeId, [keyField]: { $in: keys.map(({ key }) => key) } };
  return read<PageRow>(collection, [{ $match: named }, { $sort: { [keyField]: 1 } }, PAGE_FIELDS], keyIndex);
}
