/** Strategies that read in the order of the list: by its index, or by its rank tree. */
import type { Document } from 'mongodb';
import { COLLECTIONS, oneOf, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { BatchLimits } from '../batched.ts';
import { estimate, estimatedCount, readRanked } from '../rank-tree/by-rank.ts';
import { countFromStamp, isShallow, type RankedRequest } from '../rank-tree/read-tree.ts';
import {
  type CountedPage,
  countIn,
  type IndexScan,
  indexScan,
  PAGE_FIELDS,
  type PageRow,
  skippedBy,
  sliceOf,
} from '../read/page.ts';
import { readPipelines, type View } from '../read/shared-reads.ts';
import { forgetStamp, readSnapshot, type Source } from '../read/snapshot.ts';
import { type List, limitsOnly, type ListQuery, type ListStrategy } from './request.ts';

/** The index in the order of the list that finds its facets. */
export function indexOf({ list: { index, facetIndex = index }, facets }: ListQuery): string {
  return facets === null ? index : facetIndex;
}

function readByIndex(view: View, query: ListQuery, pipelines: Document[][]) {
  return readPipelines(view, { entity: query.list.entity, index: indexOf(query), pipelines });
}

/** Called for lists in the order of a rank tree. */
export function rankedOf(query: ListQuery): RankedRequest {
  const { tree, entity } = query.list;
  if (tree === undefined) throw new Error(`lists of ${entity} have no rank tree`);
  return { ...query, tree, range: query.created };
}

/** Whether the store is known to be too small for a tree. */
export function isSmall({ list: { tree }, stamp }: ListQuery): boolean {
  return tree !== undefined && stamp !== null && stamp.ranks?.[tree.name]?.levels === undefined;
}

/** First pages of one length that are read at once. */
const FIRST_PAGES: BatchLimits = { underWay: 4, requests: 16 };

/** The first page, in one read with those of other stores (decision 0026). */
export const sharedFirstPage: ListStrategy = {
  isCheap: true,
  suits: (query) => limitsOnly(query) && query.page === 1,
  async read(view, { list, pageSize }) {
    const { storeId, shared, alone, redactErased } = view;
    // A shared page is not redacted.
    if (alone !== undefined || redactErased) return null;
    const kind = `${list.entity}/${pageSize}`;
    const readMany = (source: Source, ids: readonly string[]) =>
      readFirstPages(source, list, pageSize, ids);
    const first = await shared.readWithOthers(view, kind, storeId, readMany, FIRST_PAGES);
    // A store of which nothing has arrived has no stamp.
    return first ?? { rows: [], stamp: null, count: 0 };
  },
};

async function readFirstPages(
  source: Source,
  { entity, sort }: List,
  pageSize: number,
  storeIds: readonly string[],
): Promise<(CountedPage | undefined)[]> {
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
  const pages = new Map(
    found.map(({ page: rows, ...stamp }): [string, CountedPage] => [
      stamp._id,
      { rows, stamp, count: stamp.counts?.[entity] ?? 0, isShared: true },
    ]),
  );
  return storeIds.map((id) => pages.get(id));
}

/** Pages near the front, by the index; the stamp has the count. */
export const firstPages: ListStrategy = {
  isCheap: true,
  suits: (query) => limitsOnly(query, 'facets') && isShallow(rankedOf(query)),
  async read(view, query) {
    const found = await readByIndex(view, query, [
      [{ $match: query.match }, ...sliceOf(query.list.sort, query)],
    ]);
    return { ...found, count: countFromStamp(found.stamp, rankedOf(query)) };
  },
};

/**
 * A range of creation that holds no more than a leaf of the rank tree. Gives up at once if cached
 * nodes say that it is large.
 */
export const scanIfSmall: ListStrategy = {
  isCheap: true,
  suits: (query) =>
    query.conditions.created !== undefined &&
    isRange(query) &&
    skippedBy(query) <= rankedOf(query).tree.leafRecords,
  async read(view, query) {
    const ranked = rankedOf(query);
    const { leafRecords } = ranked.tree;
    if (estimatedCount(estimate(view, ranked)) > leafRecords) return null;
    const matching = { $match: query.match };
    const pipelines = [
      [matching, ...sliceOf(query.list.sort, query)],
      [matching, { $limit: leafRecords + 1 }, { $count: 'count' }],
    ];
    const found = await readByIndex(view, query, pipelines);
    const count = countIn(found.rows);
    return count > leafRecords ? null : { ...found, count };
  },
};

/** The nodes that count the range and find the page: one or two round trips at any depth (0033). */
export const rankTree: ListStrategy = {
  isCheap: true,
  suits: isRange,
  read: (view, query) => readRanked(view, rankedOf(query)),
};

/** Whether it asks for a range of the rank tree, of some facets, in a store that may have one. */
function isRange(query: ListQuery): boolean {
  const { tree, creation } = query.list;
  return limitsOnly(query, 'facets', tree === creation ? 'created' : 'facets') && !isSmall(query);
}

/** A first page that most likely shows all matches: nothing is counted. */
export const scanIfShown: ListStrategy = {
  isCheap: true,
  suits(query) {
    const { search, facets, created, updated } = query.conditions;
    const isNarrow = search !== undefined || (facets !== undefined && created !== undefined);
    const isFew = query.list.isSelective || (isSmall(query) && isNarrow);
    return query.page === 1 && updated === undefined && isFew;
  },
  async read(view, query) {
    const { match, pageSize, list } = query;
    const pipelines = [[{ $match: match }, { $sort: list.sort }, { $limit: pageSize + 1 }]];
    const found = await readByIndex(view, query, pipelines).catch((error: unknown) => {
      // A search of a store that has grown since its stamp was read: the next one is planned
      // without it.
      forgetStamp(view, view.storeId);
      throw error;
    });
    return found.rows.length > pageSize ? null : { ...found, count: found.rows.length };
  },
};

/** All matches, counted. */
export const scan: ListStrategy = {
  suits: () => true,
  read: (view, query) => indexScan(view, scanOf(query)),
};

export function scanOf(query: ListQuery): IndexScan {
  const { entity, sort, sortKey, isSelective } = query.list;
  // Another index may find what has a value in another field.
  const isOpen = query.conditions.where !== undefined && !isSelective;
  // Of all records the stamp has the count.
  const count = limitsOnly(query) ? (stamp: Stamp | null) => stamp?.counts?.[entity] ?? 0 : null;
  const index = isOpen ? undefined : indexOf(query);
  return { ...query, entity, sort, sortKey, index, count };
}
