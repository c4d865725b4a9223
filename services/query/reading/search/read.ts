/** Reads one page of the customers that match a search, by name, with their exact number. */
import { COLLECTIONS, documentId } from '#shared/read-models/collections.ts';
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, type PageRequest, type PageRow, skippedBy } from '../page.ts';
import type { ReadShared, View } from '../view.ts';
import { countHits, type LeafHits, matchingIn, readLines } from './hits.ts';
import type { SearchTerms } from './terms.ts';

/** @returns `null` when there are so few customers that their tree has no leaves: then they are as good walked. */
export async function readSearched(
  read: ReadShared,
  view: View,
  terms: SearchTerms,
  request: PageRequest,
): Promise<CountedPage | null> {
  const { leaves, stamp } = await countHits(read, view, terms);
  if (stamp?.ranks?.customer?.leaves === undefined) return null;
  const count = leaves.reduce((sum, { hits }) => sum + hits, 0);
  const { shown, skip } = leavesOfPage(leaves, skippedBy(request), request.pageSize);
  const lines = await readLines(
    read,
    view,
    shown.map(({ leaf }) => leaf),
  );
  const keys = shown
    .flatMap(({ leaf }) => matchingIn(lines.get(leaf) ?? '', terms))
    .map(({ rank_key }) => rank_key)
    .toSorted(compareKeys)
    .slice(skip, skip + request.pageSize);
  return { rows: await readCustomersOf(read, view, keys), stamp, count };
}

/** The leaves that the records of a page lie in, and how many matches of the first come before it. */
function leavesOfPage(
  leaves: readonly LeafHits[],
  skip: number,
  pageSize: number,
): { shown: LeafHits[]; skip: number } {
  let before = 0;
  let skipped = 0;
  const shown: LeafHits[] = [];
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

async function readCustomersOf(read: ReadShared, view: View, keys: string[]): Promise<PageRow[]> {
  if (keys.length === 0) return [];
  const ids = keys.map((key) => documentId(view.storeId, key.slice(key.indexOf('\0') + 1)));
  const rows = await read<PageRow & { key: string }>(COLLECTIONS.customer, [
    { $match: { store_id: view.storeId, _id: { $in: ids } } },
    { $project: { _id: 0, key: '$rank_key', summary: 1, offset: 1 } },
  ]);
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return keys.flatMap((key) => byKey.get(key) ?? []);
}
