/**
 * A page and its count from the rank tree, all in one snapshot and, nearly always, three round trips: the branches, with the leaves
 * that the bounds of a range cut; then what comes before the bounds in those leaves, and the leaves among which the page
 * begins; then the page.
 */
import type { Document } from 'mongodb';
import { RANK_NODES } from '#shared/read-models/collections.ts';
import { compareKeys, type KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, type PageRow, skippedBy } from '../page.ts';
import type { ReadInSnapshot, View } from '../view.ts';
import { readFew } from './few.ts';
import { countBefore, indexOfKey, indexOfRank, type LevelNode } from './levels.ts';
import { LevelsReader, type NodeRow, type Top, unionWithNodes } from './levels-reader.ts';
import { indexFor, isShallow, matching, pageStages, type RankedRequest } from './request.ts';

/** A bound of a range: the leaf that it cuts, and how many records come before that leaf. */
interface Edge {
  key: string;
  leaf: LevelNode;
  before: number;
}

/** Where to begin to read a page. */
interface Start {
  key: string;
  skip: number;
}

type Row = PageRow & NodeRow & { lower?: number; upper?: number };

/** Reads a page within a range of keys. */
export async function readByRank(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  range: KeyRange,
): Promise<CountedPage> {
  const { tree, facets } = request;
  const { from, to } = range;
  const reader = new LevelsReader(view, tree, facets);
  const keys = [...(from === '' ? [] : [from]), ...(to === null ? [] : [to])];
  const top = await reader.top(read, keys);
  const { branches, stamp } = top;
  if (stamp?.ranks?.[tree.name]?.leaves === undefined) return readFew(read, view, request, range);

  const skip = skippedBy(request);
  const lower = from === '' ? null : edgeAt(top, from);
  const upper = to === null ? null : edgeAt(top, to);
  const atOnce = isShallow(request, skip) ? { key: from, skip } : null;
  const among = atOnce === null ? branchesAmong(branches, lower, skip) : [];

  const pageFrom = (at: Start) =>
    pageStages(matching(view.storeId, request, { from: at.key, to }), request, at.skip);
  const countUpTo = (edge: Edge | null, name: 'lower' | 'upper'): Document[] | null =>
    edge === null || edge.leaf.boundary === edge.key
      ? null
      : [matching(view.storeId, request, { from: edge.leaf.boundary, to: edge.key }), { $count: name }];
  let rows = await readTogether(
    read,
    request,
    [atOnce === null ? null : pageFrom(atOnce), countUpTo(lower, 'lower'), countUpTo(upper, 'upper')],
    among.map((index) => reader.leavesOf(branches, index, String(index))),
  );

  const partOf = (name: 'lower' | 'upper') => rows.find((row) => row[name] !== undefined)?.[name] ?? 0;
  const first = (lower?.before ?? 0) + partOf('lower');
  const end = upper === null ? countBefore(branches, branches.length) : upper.before + partOf('upper');
  const count = Math.max(0, end - first);
  if (atOnce !== null) return { rows, stamp, count };
  const found = skip < count ? indexOfRank(branches, first + skip) : null;
  if (found === null) return { rows: [], stamp, count };
  const { index, rest } = found;
  if (!among.includes(index)) {
    rows = await readTogether(read, request, [], [reader.leavesOf(branches, index, String(index))]);
  }
  const start = startIn(reader.leavesIn(rows, String(index)), rest);
  return {
    rows: start === null ? [] : await readTogether(read, request, [pageFrom(start)], []),
    stamp,
    count,
  };
}

/** Where a key lies, but for what comes before it in its own leaf. */
function edgeAt({ branches, upTo }: Top, key: string): Edge {
  const index = indexOfKey(branches, key);
  const { boundary = '' } = branches[index] ?? {};
  const leaves = (upTo.get(key) ?? []).filter((leaf) => compareKeys(leaf.boundary, boundary) >= 0);
  const last = leaves.length - 1;
  return {
    key,
    leaf: leaves[last] ?? { boundary: '', count: 0 },
    before: countBefore(branches, index) + countBefore(leaves, last),
  };
}

/**
 * The branches in which the page may begin, where they are few: it is known but for what comes before the lower bound in
 * the leaf that it cuts.
 */
function branchesAmong(branches: readonly LevelNode[], lower: Edge | null, skip: number): number[] {
  const rank = (lower?.before ?? 0) + skip;
  const first = indexOfRank(branches, rank)?.index;
  if (first === undefined) return [];
  const last = indexOfRank(branches, rank + (lower?.leaf.count ?? 0))?.index ?? branches.length - 1;
  // Where hardly any record counts, they can be all of the tree.
  return last === first ? [first] : last === first + 1 ? [first, last] : [];
}

function startIn(leaves: readonly LevelNode[], rank: number): Start | null {
  const found = indexOfRank(leaves, rank);
  return found === null ? null : { key: leaves[found.index]?.boundary ?? '', skip: found.rest };
}

/** Several reads of the tree's collection, and of nodes, in one round trip. */
async function readTogether(
  read: ReadInSnapshot,
  request: RankedRequest,
  parts: (Document[] | null)[],
  nodes: Document[][],
): Promise<Row[]> {
  const { collection } = request.tree;
  const [first, ...others] = parts.filter((part) => part !== null);
  if (first === undefined) {
    const [leading, ...rest] = nodes;
    return leading === undefined ? [] : read<Row>(RANK_NODES, [...leading, ...rest.map(unionWithNodes)]);
  }
  return read<Row>(
    collection,
    [
      ...first,
      ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } })),
      ...nodes.map(unionWithNodes),
    ],
    indexFor(request),
  );
}
