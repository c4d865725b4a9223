/** Reads one page of the customers that match a search, by name, with their exact number. */
import type { Document } from 'mongodb';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, type PageRequest, type PageRow, skippedBy } from '../page.ts';
import type { View } from '../view.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { type SearchedLeaf, searchLeaves } from './leaves.ts';
import { searchFilter, type SearchTerms } from './terms.ts';

/** More doubtful leaves than this are as well walked. */
const MOST_DOUBTFUL = 100;

/**
 * @returns `null` where walking the customers is as good: when they are so few that their tree has no leaves, or when in too many
 * leaves the same customers match by name and by number.
 */
export async function readSearched(
  read: ReadInSnapshot,
  view: View,
  terms: SearchTerms,
  request: PageRequest,
): Promise<CountedPage | null> {
  const { leaves, stamp } = await searchLeaves(read, view, terms);
  if (stamp?.ranks?.customer?.leaves === undefined) return null;
  const doubtful = leaves.filter((leaf) => leaf.doubtful);
  if (doubtful.length > MOST_DOUBTFUL) return null;
  const exact = await readInLeaves<{ leaf: string; hits: number }>(
    read,
    view,
    terms,
    doubtful,
    ({ boundary }) => [{ $count: 'hits' }, { $set: { leaf: { $literal: boundary } } }],
  );
  const hits = new Map(exact.map((row) => [row.leaf, row.hits]));
  for (const leaf of doubtful) leaf.hits = hits.get(leaf.boundary) ?? 0;

  const count = leaves.reduce((sum, leaf) => sum + leaf.hits, 0);
  const { shown, skip } = leavesOfPage(leaves, skippedBy(request), request.pageSize);
  const rows = await readInLeaves<PageRow & { key: string }>(read, view, terms, shown, () => [
    { $project: { _id: 0, key: `$${RANK_TREES.customer.keyField}`, summary: 1, offset: 1 } },
  ]);
  return {
    rows: rows.toSorted((a, b) => compareKeys(a.key, b.key)).slice(skip, skip + request.pageSize),
    stamp,
    count,
  };
}

/** The leaves that the records of a page lie in, and how many matches of the first come before it. */
function leavesOfPage(
  leaves: readonly SearchedLeaf[],
  skip: number,
  pageSize: number,
): { shown: SearchedLeaf[]; skip: number } {
  let before = 0;
  let skipped = 0;
  const shown: SearchedLeaf[] = [];
  for (const leaf of leaves) {
    if (before >= skip + pageSize) break;
    if (before + leaf.hits > skip) {
      if (shown.length === 0) skipped = skip - before;
      shown.push(leaf);
    }
    before += leaf.hits;
  }
  return { shown, skip: skipped };
}

/** Reads the customers of some leaves that match, in one round trip; `stages` say what is wanted of them. */
async function readInLeaves<T extends Document>(
  read: ReadInSnapshot,
  { storeId }: View,
  terms: SearchTerms,
  leaves: readonly SearchedLeaf[],
  stages: (leaf: SearchedLeaf) => Document[],
): Promise<T[]> {
  const { collection, keyField, keyIndex } = RANK_TREES.customer;
  const [first, ...others] = leaves.map((leaf) => [
    { $match: { store_id: storeId, [keyField]: { $gte: leaf.boundary } } },
    { $sort: { [keyField]: 1 } },
    { $limit: leaf.total },
    { $match: searchFilter(terms) },
    ...stages(leaf),
  ]);
  if (first === undefined) return [];
  const united = others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }));
  return read<T>(collection, [...first, ...united], keyIndex);
}
