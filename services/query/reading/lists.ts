/**
 * Lists: which request is read which way. Every way answers the same page, from one snapshot; what differs is the cost. The first way
 * that takes a request reads it; one that finds out that it costs too much gives up, and the next one is tried.
 *
 * | request                                             | way                    | why                                                |
 * | --------------------------------------------------- | ---------------------- | -------------------------------------------------- |
 * | first page of all records                           | `sharedFirstPage`      | those of many stores are one read (decision 0032)  |
 * | all products                                        | `readByLayout`         | no index has the order of their categories (0043)  |
 * | all records, or some facets, near the front         | `walkFront`            | the stamp knows their number: one walk, no count   |
 * | updated in a window                                 | `sortWindow`           | the window is short: sorted, not walked            |
 * | products updated in a wide window                   | `readUpdatedByLayout`  | as all products, counted by category               |
 * | customers created in a window                       | `sortWindow`           | as above, as long as the window is within a leaf   |
 * | customers created in a wide window                  | `readCreatedByName`    | the tree of creation counts it (0017)              |
 * | customers that a text finds                         | `readSearched`         | the texts of leaves tell where matches lie (0018)  |
 * | in a tree's order, of a store whose tree is no tree | `walkAndCount`         | few records: counting them is as quick             |
 * | in a tree's order, a range within a leaf            | `walkAndCount`         | as above, as long as it is no more than a leaf     |
 * | in a tree's order, anything else                    | `readByRank`           | counts and any page by two round trips (0017)      |
 * | anything else: one customer's orders, a status …    | `walkAndCount`         | what is left is few                                |
 */
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import { readCreatedByName } from './created-by-name.ts';
import type { Found } from './found.ts';
import { type Conditions, conditionsOf, isWhole, type ListRequest } from './list-request.ts';
import { type CountedPage, foundPage, skippedBy } from './page.ts';
import { readByLayout, readUpdatedByLayout } from './products/by-layout.ts';
import { estimate, estimatedCount, readByRank } from './ranked/by-rank.ts';
import { countFromStamp, indexFor, isShallow, type RankedRequest } from './ranked/request.ts';
import { readSearched } from './search/read.ts';
import type { StampHint } from './caches.ts';
import { inSnapshot } from './snapshot.ts';
import { offsetOf } from './stamp.ts';
import type { View } from './shared-reads.ts';
import { ALL, sortWindow, walk, walkNarrow } from './walk.ts';

/** A request, and what is known of it before anything is read. */
interface Asked {
  view: View;
  request: ListRequest;
  conditions: Conditions;
  hint: StampHint;
}

/** `null` where it does not take the request, or finds out that another way is better. */
type Way = (asked: Asked) => Promise<CountedPage | null> | null;

/** The table above, from top to bottom; what the last one takes is anything. */
const WAYS: readonly Way[] = [
  sharedFirstPage,
  (asked) => (isArranged(asked) && isAll(asked) ? readByLayout(asked.view, asked.request) : null),
  walkFront,
  updatedWindow,
  (asked) =>
    isArranged(asked) && isUpdated(asked)
      ? readUpdatedByLayout(asked.view, asked.request, asked.conditions.updated)
      : null,
  createdCustomers,
  searched,
  ranked,
];

/**
 * The page as the envelope of rule R6.1. Filters by date-time are local, and the store's offset lies in the same snapshot as the records:
 * the cached one is taken, and if it is outdated, the read is made once more.
 */
export async function readList(view: View, request: ListRequest): Promise<Found> {
  const { storeId, shared } = view;
  for (;;) {
    const hint = shared.hintOf(storeId);
    const shift = offsetMilliseconds(hint.offset);
    let dated = false;
    const conditions = conditionsOf(storeId, request, (local) => {
      dated = true;
      return local - shift;
    });
    const page = await readPage({ view, request, conditions, hint });
    shared.cacheHint(storeId, page.stamp);
    if (!dated || offsetOf(page.stamp) === hint.offset) return foundPage(page, request);
  }
}

async function readPage(asked: Asked): Promise<CountedPage> {
  for (const way of WAYS) {
    const found = await way(asked);
    if (found !== null) return found;
  }
  return walkAndCount(asked);
}

function isUpdated({ conditions }: Asked): boolean {
  return Object.keys(conditions.updated).length > 0;
}

/** Whether nothing is asked for but, perhaps, facets. */
function isUnbounded(asked: Asked): boolean {
  const { request, conditions } = asked;
  return (
    isWhole(conditions.created) &&
    !isUpdated(asked) &&
    request.search === null &&
    Object.keys(request.where).length === 0
  );
}

function isAll(asked: Asked): boolean {
  return isUnbounded(asked) && asked.request.facets === null;
}

/** Whether no index has the order of the list: that of all products. */
function isArranged({ request }: Asked): boolean {
  return request.arrange.length > 0;
}

function sharedFirstPage(asked: Asked): Promise<CountedPage | null> | null {
  const { view, request } = asked;
  // Products have their own, by their layout; what is masked is never shared.
  if (!isAll(asked) || request.page !== 1 || view.masks || isArranged(asked)) return null;
  const { entity, sort } = request;
  return view
    .bounded((signal) => view.shared.pages.first({ entity, sort }, request.pageSize, view.storeId, signal))
    .then((first) => first && { ...first, count: first.stamp?.counts?.[entity] ?? 0 });
}

function walkFront(asked: Asked): Promise<CountedPage> | null {
  const { view, request, conditions } = asked;
  const { tree } = request;
  if (!isUnbounded(asked)) return null;
  if (tree === null) {
    return walk(view, {
      ...request,
      match: conditions.match,
      count: (stamp) => stamp?.counts?.[request.entity] ?? 0,
    });
  }
  const inTree = { ...request, tree };
  if (!isShallow(inTree, skippedBy(request))) return null;
  return walk(view, {
    ...request,
    match: conditions.match,
    index: indexFor(inTree),
    count: (stamp) => countFromStamp(stamp, inTree),
  });
}

function updatedWindow(asked: Asked): Promise<CountedPage | null> | null {
  return isUpdated(asked) && !asked.request.few
    ? sortWindow(asked.view, asked.request, asked.conditions.match, 'by_updated')
    : null;
}

async function createdCustomers(asked: Asked): Promise<CountedPage | null> {
  const { view, request, conditions } = asked;
  const isCreated = request.createdKey === 'created_key' && !isWhole(conditions.created);
  if (!isCreated || isUpdated(asked) || request.tree === null) return null;
  const { match } = conditions;
  if (request.search !== null) return sortWindow(view, request, match, 'by_created');
  return (
    (await sortWindow(view, request, match, 'by_created', request.tree.leafRecords)) ??
    inSnapshot(view, ({ read }) => readCreatedByName(read, view, conditions.created, request))
  );
}

function searched(asked: Asked): Promise<CountedPage | null> | null {
  const { view, request, conditions } = asked;
  const { search } = request;
  if (search === null || isUpdated(asked) || !isWhole(conditions.created)) return null;
  return inSnapshot(view, ({ read }) => readSearched(read, view, search, request));
}

/** Whether what passes is a range of the list's order and, perhaps, facets: what a tree counts. */
function inTreeOf(asked: Asked): RankTree | null {
  const { request, conditions } = asked;
  const { tree, createdKey, search, where } = request;
  if (tree === null || search !== null || isUpdated(asked) || Object.keys(where).length > 0) return null;
  return createdKey === tree.keyField || isWhole(conditions.created) ? tree : null;
}

async function ranked(asked: Asked): Promise<CountedPage | null> {
  const { view, request, conditions, hint } = asked;
  const tree = inTreeOf(asked);
  if (tree === null) return null;
  const inTree: RankedRequest = { ...request, tree };
  if (hint.levels !== null && hint.levels[tree.name] === undefined)
    return walkAndCount(asked, indexFor(inTree));
  const { leafRecords } = tree;
  const estimated = estimate(view, inTree, conditions.created);
  if (
    !isWhole(conditions.created) &&
    skippedBy(request) <= leafRecords &&
    estimatedCount(estimated) <= leafRecords
  ) {
    const index = indexFor(inTree);
    const narrow = await walkNarrow(view, leafRecords, { ...request, match: conditions.match, index });
    if (narrow !== null) return narrow;
  }
  return inSnapshot(view, ({ read }) => readByRank(read, view, inTree, conditions.created, estimated));
}

function walkAndCount({ view, request, conditions }: Asked, index?: string): Promise<CountedPage> {
  return walk(view, {
    ...request,
    match: conditions.match,
    count: ALL,
    ...(index === undefined ? {} : { index }),
  });
}
