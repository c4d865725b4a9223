/**
 * A page and its count from the rank tree, all in one snapshot: the branches tell in which of them the page and the
 * bounds of a range lie, their leaves tell it more exactly, and only the leaves that are cut are counted.
 */
import type { Document } from 'mongodb';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, type PageRow, skippedBy } from '../page.ts';
import type { ReadShared, View } from '../view.ts';
import { countBefore, indexOfKey, indexOfRank, type LevelNode } from './levels.ts';
import { LevelsReader } from './levels-reader.ts';
import { readFew } from './few.ts';
import { indexFor, isShallow, matching, pageStages, type RankedRequest } from './request.ts';

/** A bound of a range: the leaf that it cuts, and how many records come before that leaf. */
interface Edge {
  key: string;
  leaf: string;
  before: number;
}

/** Where to begin to read a page. */
interface Start {
  key: string;
  skip: number;
}

type Row = PageRow & { lower?: number; upper?: number };

/** Reads a page within a range of keys. */
export async function readByRank(
  read: ReadShared,
  view: View,
  request: RankedRequest,
  range: KeyRange,
): Promise<CountedPage> {
  const { tree, facets } = request;
  const reader = new LevelsReader(read, view, tree.name, facets);
  const { branches, stamp } = await reader.branches();
  if (stamp?.ranks?.[tree.name]?.leaves === undefined) return readFew(read, view, request, range);

  const skip = skippedBy(request);
  const { from, to } = range;
  const target = from === '' ? indexOfRank(branches, skip) : null;
  const wanted = new Set<number>();
  if (from !== '') wanted.add(indexOfKey(branches, from));
  if (to !== null) wanted.add(indexOfKey(branches, to));
  if (target !== null) wanted.add(target.index);
  const leaves = await reader.leavesOf(branches, wanted);

  const edgeAt = (key: string): Edge => {
    const branch = indexOfKey(branches, key);
    const within = leaves.get(branch) ?? [];
    const leaf = indexOfKey(within, key);
    return {
      key,
      leaf: within[leaf]?.boundary ?? '',
      before: countBefore(branches, branch) + countBefore(within, leaf),
    };
  };
  const lower = from === '' ? null : edgeAt(from);
  const upper = to === null ? null : edgeAt(to);
  let start: Start | null = null;
  if (lower !== null && isShallow(request, skip)) start = { key: from, skip };
  else if (target !== null) start = startIn(leaves.get(target.index) ?? [], target.rest);

  const pageFrom = (at: Start) =>
    pageStages(matching(view.storeId, request, { from: at.key, to }), request, at.skip);
  const countUpTo = (edge: Edge | null, name: 'lower' | 'upper'): Document[] | null =>
    edge === null || edge.leaf === edge.key
      ? null
      : [matching(view.storeId, request, { from: edge.leaf, to: edge.key }), { $count: name }];
  let rows = await readTogether(read, request, [
    start === null ? null : pageFrom(start),
    countUpTo(lower, 'lower'),
    countUpTo(upper, 'upper'),
  ]);

  const partOf = (name: 'lower' | 'upper') => rows.find((row) => row[name] !== undefined)?.[name] ?? 0;
  const first = (lower?.before ?? 0) + partOf('lower');
  const end = upper === null ? countBefore(branches, branches.length) : upper.before + partOf('upper');
  const count = Math.max(0, end - first);
  if (start === null && skip < count) {
    // How far the page lies behind the lower bound is known only now.
    const found = indexOfRank(branches, first + skip);
    const within =
      found === null
        ? []
        : (leaves.get(found.index) ??
          (await reader.leavesOf(branches, [found.index])).get(found.index) ??
          []);
    const at = found === null ? null : startIn(within, found.rest);
    rows = at === null ? [] : await readTogether(read, request, [pageFrom(at)]);
  }
  return { rows, stamp, count };
}

function startIn(leaves: readonly LevelNode[], rank: number): Start | null {
  const found = indexOfRank(leaves, rank);
  return found === null ? null : { key: leaves[found.index]?.boundary ?? '', skip: found.rest };
}

/** Several reads of the tree's collection in one round trip. */
async function readTogether(
  read: ReadShared,
  request: RankedRequest,
  parts: (Document[] | null)[],
): Promise<Row[]> {
  const { collection } = request.tree;
  const [first, ...others] = parts.filter((part) => part !== null);
  if (first === undefined) return [];
  return read<Row>(
    collection,
    [...first, ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }))],
    indexFor(request),
  );
}
