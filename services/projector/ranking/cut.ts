/** Cutting: records in order into leaves, leaves in order into branches. Pure. */
import { boundaryBetween } from '#shared/read-models/rank-tree/keys.ts';
import type { Counts } from '#shared/read-models/rank-tree/nodes.ts';
import type { SearchTexts } from '#shared/read-models/search-texts.ts';
import type { RankEntry, RankTree } from '#shared/read-models/rank-tree/trees.ts';

export interface CutNode extends Counts {
  boundary: string;
  /** The texts of a leaf's records, in the tree that is searched. */
  texts?: SearchTexts;
}

/**
 * Cuts records into leaves.
 * @param from where the first leaf begins.
 * @param records in order of their keys.
 * @returns at least one leaf.
 */
export function cutLeaves(tree: RankTree, from: string, records: readonly RankEntry[]): CutNode[] {
  const sizes = partSizes(records.length, tree.leafRecords, tree.grows === 'in front' && from === '');
  let start = 0;
  return sizes.map((size): CutNode => {
    const part = records.slice(start, start + size);
    const [left, right] = [records[start - 1], part[0]];
    start += size;
    const boundary = left === undefined || right === undefined ? from : boundaryBetween(left.key, right.key);
    return leafOf(tree, boundary, part);
  });
}

/** The leaf that covers some records. */
export function leafOf(tree: RankTree, boundary: string, records: readonly RankEntry[]): CutNode {
  const counts: Record<string, number> = {};
  for (const { facet } of records) counts[facet] = (counts[facet] ?? 0) + 1;
  return { boundary, total: records.length, counts, ...textsOf(tree, records) };
}

function textsOf({ searched }: RankTree, records: readonly RankEntry[]): { texts?: SearchTexts } {
  if (!searched) return {};
  const all = (name: keyof SearchTexts) => records.map(({ texts }) => texts?.[name] ?? '').join('');
  return { texts: { names: all('names'), numbers: all('numbers') } };
}

/** Gathers leaves, in order, into branches; the first begins where the first leaf does. */
export function cutBranches({ grows, branchLeaves }: RankTree, leaves: readonly CutNode[]): CutNode[] {
  const front = grows === 'in front' && leaves[0]?.boundary === '';
  let start = 0;
  return partSizes(leaves.length, branchLeaves, front).map((size): CutNode => {
    const part = leaves.slice(start, start + size);
    start += size;
    const counts: Record<string, number> = {};
    let total = 0;
    for (const leaf of part) {
      total += leaf.total;
      for (const [facet, count] of Object.entries(leaf.counts)) counts[facet] = (counts[facet] ?? 0) + count;
    }
    return { boundary: part[0]?.boundary ?? '', total, counts };
  });
}

/** How full parts are made that will hardly grow any more, and those that may. */
const FULL = 0.9;
const HALF_FULL = 0.6;

/**
 * Sizes of parts of at most `most`. Where new ones come in front, the parts behind are made nearly full and the front
 * one small, so that it is not cut again soon; else all are alike.
 */
function partSizes(length: number, most: number, front: boolean): number[] {
  if (length <= most * HALF_FULL) return [length];
  if (front) {
    const full = Math.floor(most * FULL);
    const behind = Math.floor((length - 1) / full);
    return [length - behind * full, ...Array.from({ length: behind }, () => full)];
  }
  const parts = Math.ceil(length / (most * HALF_FULL));
  return Array.from(
    { length: parts },
    (_, part) => Math.floor(((part + 1) * length) / parts) - Math.floor((part * length) / parts),
  );
}
