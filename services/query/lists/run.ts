/** Reads a page of a list with the first strategy of its plan that does not give up. */
import type { Document } from 'mongodb';
import {
  BY_ID,
  COLLECTIONS,
  documentsWith,
  oneOf,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { RANK_TREES, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import type { BatchLimits } from '../batched.ts';
import { estimate, estimatedCount, readByRank, readRanked } from '../rank-tree/by-rank.ts';
import { countFromStamp, indexFor, keyWithin, type RankedRequest } from '../rank-tree/read-tree.ts';
import {
  bodiesOf,
  type CountedPage,
  countIn,
  foundPage,
  headOf,
  indexScan,
  PAGE_FIELDS,
  type PageRequest,
  type PageRow,
  shownOf,
  skippedBy,
  sliceOf,
} from '../read/page.ts';
import { readTogether, type View } from '../read/shared-reads.ts';
import {
  type Body,
  forgetStamp,
  type Found,
  inSnapshot,
  lastStamp,
  offsetOf,
  type ReadInSnapshot,
  readSnapshot,
  type Source,
  stampIn,
  unionWithStamps,
} from '../read/snapshot.ts';
import {
  type Conditions,
  conditionsOf,
  type ListRequest,
  type ListStrategy,
  MAX_FILTERED,
  planList,
} from './plan.ts';
import { readByLayout, readUpdatedByLayout, SEGMENT_INDEX } from './products.ts';
import { readSearched } from './search.ts';

/** A request with its conditions in the store's offset. */
interface ListQuery {
  view: View;
  request: ListRequest;
  conditions: Conditions;
}

/** A store with larger pages of a list reads that list alone. */
const MAX_SHARED_PAGE_BYTES = 1_048_576;

/** The answer of a list. */
export async function readList(view: View, request: ListRequest): Promise<Found<Body> | null> {
  const { storeId, shared } = view;
  const readShared = async () => {
    const page = await readPage(view, request);
    const answer = () => foundPage(page, request);
    return page.isShared === true ? shared.answerOf(page.rows, request.pageSize, answer) : answer();
  };
  return shared.sharedUnlessLarge(
    `${request.entity}/list/${storeId}`,
    MAX_SHARED_PAGE_BYTES,
    readShared,
    () =>
      shared.streamed(view, async (own, { read }) => {
        const page = await readPage(own, request);
        return { stamp: page.stamp, portions: portionsOf(read, view, request, page) };
      }),
  );
}

/** Records of one read: 16 MiB of the largest. */
const RECORDS_OF_A_PORTION = 8;

/** A page of which only the ids were read. */
async function* portionsOf(
  read: ReadInSnapshot,
  { redactErased }: View,
  request: ListRequest,
  page: CountedPage,
): AsyncGenerator<Buffer> {
  const ids = page.rows.flatMap(({ id }) => id ?? []);
  yield Buffer.from(headOf(page, request));
  for (let at = 0; at < ids.length; at += RECORDS_OF_A_PORTION) {
    const some = ids.slice(at, at + RECORDS_OF_A_PORTION);
    const stages = [
      { $match: documentsWith(some) },
      ...shownOf({ redactErased }, request.entity, { _id: 1 }),
    ];
    const found = await read<PageRow & { _id: string }>(COLLECTIONS[request.entity], stages, BY_ID);
    const rows = new Map(found.map((row) => [row._id, row]));
    const bodies = bodiesOf({ ...page, rows: some.flatMap((id) => rows.get(id) ?? []) });
    yield Buffer.from((at === 0 ? '' : ',') + bodies.join(','), 'latin1');
  }
  yield Buffer.from(']}');
}

/**
 * Filters by date-time are local: the page is read with the cached offset, and again if the
 * snapshot has another.
 */
async function readPage(view: View, request: ListRequest): Promise<CountedPage> {
  const { storeId, redactErased } = view;
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
    if (!dated || offsetOf(stamp) === offset) return page;
  }
}

async function runPlan(plan: readonly ListStrategy[], query: ListQuery): Promise<CountedPage> {
  for (const strategy of plan) {
    const run = STRATEGIES[strategy];
    const isShared =
      SHARED.has(strategy) && !(strategy === 'scan-first-pages' && query.request.tree === null);
    const page = isShared
      ? await run(query)
      : await query.view.shared.alone(query.view, (view) => run({ ...query, view }));
    if (page !== null) return page;
  }
  throw new Error(`no strategy of ${plan.join()} read the list`);
}

/**
 * Those of which it is known that they cost little. Of others what they cost may grow with the
 * store.
 */
const SHARED: ReadonlySet<ListStrategy> = new Set<ListStrategy>([
  'shared-first-page',
  'scan-first-pages',
  'layout',
  'search-leaves',
  'scan-if-shown',
  'scan-if-small',
  'rank-tree',
]);

/** Each returns `null` if it gives up. */
const STRATEGIES: Record<ListStrategy, (query: ListQuery) => Promise<CountedPage | null>> = {
  'shared-first-page': readSharedFirstPage,
  'scan-first-pages': scanFirstPages,
  layout: ({ view, request }) => readByLayout(view, request),
  'updated-window': (query) => filterFew(query, query.conditions.updated, 'by_updated'),
  'updated-among-few': (query) =>
    filterFew(query, query.conditions.others, orderIndex(query.request)),
  'updated-in-long': ({ view, request, conditions }) =>
    inSnapshot(view, ({ read }) => readLongWindow(read, view, request, conditions)),
  'layout-updated': ({ view, request, conditions }) =>
    readUpdatedByLayout(view, request, conditions.updated),
  'created-window': (query) => filterCreated(query),
  'created-within-leaf': (query) => filterCreated(query, BY_CREATION.leafRecords),
  'created-by-name': ({ view, request, conditions }) =>
    inSnapshot(view, ({ read }) => readCreatedByName(read, view, conditions.created, request)),
  'search-leaves': async ({ view, request: { search, ...page } }) =>
    search === null ? null : readSearched(view, search, page),
  'scan-if-shown': readIfShown,
  'scan-if-small': scanSmallRange,
  'rank-tree': ({ view, request, conditions }) =>
    readRanked(view, rankedOf(request), conditions.created),
  'scan-tree-order': ({ view, request, conditions: { match } }) =>
    indexScan(view, { ...request, match, index: indexFor(rankedOf(request)), count: null }),
  scan: ({ view, request, conditions: { match } }) =>
    indexScan(view, { ...request, match, index: request.selectiveIndex, count: null }),
};

/** The index in the order of the list. */
function orderIndex(request: ListRequest): string {
  return request.selectiveIndex ?? indexFor(rankedOf(request));
}

/** Pages of one length that are read together. */
const TOGETHER: BatchLimits = { underWay: 4, ids: 16 };

async function readSharedFirstPage({ view, request }: ListQuery): Promise<CountedPage | null> {
  const { storeId, shared, withDeadline, alone } = view;
  if (alone !== undefined) return null;
  const { entity, pageSize } = request;
  const read = shared.together(`${entity}/${pageSize}`, TOGETHER, (ids) =>
    readFirstPages(shared.source, request, ids),
  );
  const first = await withDeadline((signal) => read(storeId, signal));
  // A store of which nothing has arrived has no stamp.
  return first ?? { rows: [], stamp: null, count: 0 };
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
    // A lookup takes no hint. MongoDB's trials choose the index in the order of the list, since all
    // others must sort the whole store.
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
async function readIfShown({
  view,
  request,
  conditions: { match },
}: ListQuery): Promise<CountedPage | null> {
  const { entity, sort, pageSize } = request;
  const pipelines = [[{ $match: match }, { $sort: sort }, { $limit: pageSize + 1 }]];
  const found = await readTogether(view, { entity, index: orderIndex(request), pipelines }).catch(
    (error: unknown) => {
      // A search of a store that has grown since its stamp was read: the next one is planned
      // without it.
      forgetStamp(view, view.storeId);
      throw error;
    },
  );
  return found.rows.length > pageSize ? null : { ...found, count: found.rows.length };
}

async function scanFirstPages({
  view,
  request,
  conditions: { match },
}: ListQuery): Promise<CountedPage> {
  const { tree, entity, sort } = request;
  if (tree === null)
    return indexScan(view, { ...request, match, count: (stamp) => stamp?.counts?.[entity] ?? 0 });
  const ranked = { ...request, tree };
  const pipelines = [[{ $match: match }, ...sliceOf(sort, request)]];
  const found = await readTogether(view, { entity, index: indexFor(ranked), pipelines });
  return { ...found, count: countFromStamp(found.stamp, ranked) };
}

/** Gives up at once if cached nodes of the tree say that the range is large. */
async function scanSmallRange({
  view,
  request,
  conditions,
}: ListQuery): Promise<CountedPage | null> {
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

/**
 * Finds records by the condition of one index, then filters and sorts them.
 * @returns `null` if it finds more than `most`.
 */
async function filterFew(
  { view, request, conditions: { match } }: ListQuery,
  condition: Document,
  index: string,
  most = MAX_FILTERED,
): Promise<CountedPage | null> {
  const { entity, sortKeyStages, sort } = request;
  const coll = COLLECTIONS[entity];
  const examined = [{ $match: { store_id: view.storeId, ...condition } }, { $limit: most + 1 }];
  const filtered = [...examined, { $match: match }];
  const rows = await readSnapshot<PageRow & { count?: number; bound?: number }>(
    view,
    coll,
    [
      ...filtered,
      ...sortKeyStages,
      ...sliceOf(sort, request),
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

function filterCreated(query: ListQuery, most?: number): Promise<CountedPage | null> {
  const { keyField, keyIndex } = BY_CREATION;
  return filterFew(query, keyWithin(keyField, query.conditions.created), keyIndex, most);
}

/**
 * A window that holds many records, among others of which there are many too. Whatever is examined
 * least is.
 */
async function readLongWindow(
  read: ReadInSnapshot,
  view: View,
  request: ListRequest,
  { updated, others, match }: Conditions,
): Promise<CountedPage> {
  const { entity, tree } = request;
  const count = async (filter: Document, index: string) => {
    const pipeline = [{ $match: { store_id: view.storeId, ...filter } }, { $count: 'count' }];
    const rows = await read<{ count?: number }>(
      COLLECTIONS[entity],
      [...pipeline, unionWithStamps(view.storeId)],
      index,
    );
    return { count: countIn(rows), stamp: stampIn(rows) };
  };
  const inOrder = tree === null ? SEGMENT_INDEX : orderIndex(request);
  const { count: inWindow, stamp } = await count(updated, 'by_updated');
  const ofTree =
    tree !== null && isWholeOf(request, others)
      ? countFromStamp(stamp, { ...request, tree })
      : null;
  const listed = ofTree ?? (await count(others, inOrder)).count;
  if (listed <= inWindow || tree === null) {
    return indexScan(view, { ...request, match, index: inOrder, count: null }, read);
  }
  const isFiltered = Object.keys(others).length > 0;
  const matching = isFiltered
    ? (await count({ ...others, ...updated }, 'by_updated')).count
    : inWindow;
  if (skippedBy(request) >= matching) return { rows: [], stamp, count: matching };
  const scanned = ((skippedBy(request) + request.pageSize) * listed) / matching;
  if (scanned > inWindow) {
    return {
      rows: await sortKeys(read, view, { match, index: 'by_updated', tree }, request),
      stamp,
      count: matching,
    };
  }
  return indexScan(view, { ...request, match, index: inOrder, count: () => matching }, read);
}

/**
 * Whether the stamp counts what the other conditions find: all records, or those of some facets.
 */
function isWholeOf({ facets }: ListRequest, others: Document): boolean {
  return Object.keys(others).length === (facets === null ? 0 : 1);
}

const BY_NAME = RANK_TREES.customer;
const BY_CREATION = RANK_TREES.customer_created;

/**
 * A scan by name reads whole customers, a sort of the window only index keys: three of them in the
 * time of one customer.
 */
const KEYS_PER_CUSTOMER = 3;

/**
 * The customers created in a long window, by name. Their number is known first, and decides whether
 * the names are scanned or sorted.
 */
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
  if (count <= scanned * KEYS_PER_CUSTOMER) {
    const window = { match, index: BY_CREATION.keyIndex, tree: BY_NAME };
    return { rows: await sortKeys(read, view, window, request), stamp, count };
  }
  const { entity, keyField, keyIndex: index } = BY_NAME;
  return indexScan(
    view,
    { ...request, entity, match, sort: { [keyField]: 1 }, index, count: () => count },
    read,
  );
}

interface Window {
  match: Document;
  /** Holds the sort keys too. */
  index: string;
  tree: RankTree;
}

/** Sorts the keys in the index of a window, and reads only the page's records. */
async function sortKeys(
  read: ReadInSnapshot,
  view: View,
  { match, index, tree: { entity, collection, keyField, keyIndex } }: Window,
  request: PageRequest,
): Promise<PageRow[]> {
  const sorted = [
    { $match: match },
    { $project: { _id: 0, key: `$${keyField}` } },
    ...sliceOf({ key: 1 }, request),
  ];
  const keys = await read<{ key: string }>(collection, sorted, index);
  const named = { store_id: view.storeId, [keyField]: { $in: keys.map(({ key }) => key) } };
  return read<PageRow>(
    collection,
    [{ $match: named }, { $sort: { [keyField]: 1 } }, ...shownOf(view, entity)],
    keyIndex,
  );
}
