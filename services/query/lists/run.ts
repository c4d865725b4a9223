/** Reads a page of a list by the first strategy of its plan that does not give up. */
import type { Document } from 'mongodb';
import { isDocumentTooLarge } from '#shared/errors.ts';
import { COLLECTIONS, oneOf, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import { type Found, inSnapshot, lastStamp, offsetOf, readSnapshot, type Source } from '../read/snapshot.ts';
import { type CountedPage, foundPage, type PageRow, ALL, PAGE_FIELDS, indexScan, sliceOf } from '../read/page.ts';
import { readTogether } from '../read/together.ts';
import type { BatchLimits } from '../batched.ts';
import { readByLayout, readUpdatedByLayout } from './products.ts';
import { estimate, estimatedCount, readRanked } from '../rank-tree/by-rank.ts';
import { countFromStamp, indexFor, type RankedRequest } from '../rank-tree/read-tree.ts';
import type { View } from '../read/shared-reads.ts';
import { readCreatedByName } from './created-by-name.ts';
import { type ListStrategy, planList, type Conditions, conditionsOf, type ListRequest } from './plan.ts';
import { readSearched } from './search.ts';

/** A request in the offset in which its date-times are read. */
interface ListQuery {
  view: View;
  request: ListRequest;
  conditions: Conditions;
}

/**
 * The page as the envelope of rule R6.1. Filters by date-time are local, and the store's offset is in the same snapshot as the records.
 * So the page is read with the cached offset, and once more if the snapshot has another one.
 */
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
    return page.isShared === true ? shared.answerOf(page.rows, answer) : answer();
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
    // Of a store of which nothing has arrived there is no stamp.
    return first ?? { rows: [], stamp: null, count: 0 };
  } catch (error) {
    // Whose page it was is not told, so that all of them are read alone.
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
    // No index can be named here. With no filter but the store's, the one in the order of the list wins every trial: it
    // brings a record with every step, and all others bring none before they have read and sorted the whole store.
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

/** The first page where it shows all that match, so that nothing is counted. */
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

/** Gives up at once where the tree, as far as it is cached, says that the range is large. */
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
  // A count of nothing is no row.
  const count = found.rows.find((row) => row.count !== undefined)?.count ?? 0;
  return count > leafRecords ? null : { ...found, count };
}

function rankedOf(request: ListRequest): RankedRequest {
  if (request.tree === null) throw new Error(`lists of ${request.entity} have no rank tree`);
  return { ...request, tree: request.tree };
}

/** A window with more records is long. */
const MAX_WINDOW_RECORDS = 2_000;

/**
 * What was updated, or created, in a window of time, in an order that is not of time. Integrations ask for the last few minutes, so
 * the window is found by its own index and sorted.
 * @returns `null` for a long window. @param index the one that bounds the window.
 */
async function sortTimeWindow(
  view: View,
  request: ListRequest,
  match: Document,
  index: 'by_updated' | 'by_created',
  most = MAX_WINDOW_RECORDS,
): Promise<CountedPage | null> {
  const count = { atMost: most + 1 };
  const found = await indexScan(view, { ...request, match, index, unsorted: request.sortKeyStages, count });
  return found.count > most ? null : found;
}
