/**
 * A page and its count from the rank tree, in one snapshot. It takes the nodes on the way to the
 * range's bounds and to the page, counts of the records before the bounds in their leaves, and the
 * page. Cached nodes are current if the stamp of the snapshot names their version: then the page is
 * one read, shared with other requests. Otherwise the cache only tells which nodes to read.
 */
import type { Stamp } from '#shared/read-models/collections.ts';
import { nodeId, type Packed, sumCounts } from '#shared/read-models/rank-tree/nodes.ts';
import { type CountedPage, skippedBy } from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import { inSnapshot, lastStamp, type ReadInSnapshot } from '../read/snapshot.ts';
import { boundaryName, type Descent, descentOf, type Edge, type Start } from './descent.ts';
import {
  readRecords,
  readTree,
  type TreeRead,
  type TreeReadResult,
  countFromStamp,
  isShallow,
  type RankedRequest,
} from './read-tree.ts';

/**
 * Where the top node of an unknown tree may be. A tree with a fourth level has a hundred million
 * records.
 */
const TOP_LEVELS = [0, 1, 2];

/** `null` for a store without a tree, and for a damaged one: the records are to be counted. */
export async function readRanked(view: View, request: RankedRequest): Promise<CountedPage | null> {
  const first = firstRead(view, request);
  if (first.page !== null && first.nodes.length === 0) {
    const page = await descend(view, request, first, {
      read: (asked) => readRecords(view, request, asked),
      isOnce: true,
    });
    if (page !== null) return page;
  }
  return inSnapshot(view, ({ read }) => readByRank(read, view, request));
}

/** The same in an existing snapshot. */
export function readByRank(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
): Promise<CountedPage | null> {
  return descend(view, request, firstRead(view, request), {
    read: (asked) => readTree(read, view, request, asked),
    isOnce: false,
  });
}

type FirstRead = TreeRead & { nodes: string[]; guessed: Iterable<string> };

/** What to read at first: what cached nodes name, and the nodes that are not current. */
function firstRead(view: View, request: RankedRequest): FirstRead {
  const { name } = request.tree;
  const estimated = estimate(view, request);
  const guessed =
    estimated?.visited ?? TOP_LEVELS.map((level) => nodeId(name, view.storeId, level, ''));
  const last = lastStamp(view, view.storeId)?.ranks?.[name]?.version;
  return {
    page: expectedStart(request, estimated),
    guessed,
    nodes: [...guessed].filter((id) => cachedNode(view, last, id) === undefined),
    boundaryCounts: estimated?.boundaryCounts ?? [],
  };
}

function cachedNode({ shared }: View, version: string | undefined, id: string): Packed | undefined {
  const node = shared.caches.nodes.get(shared.key(id));
  return version !== undefined && node?.version === version ? node : undefined;
}

/**
 * Where the page begins if the nodes are current; `null` if records before the bounds have to be
 * counted first.
 */
function expectedStart(request: RankedRequest, estimated: Estimate | null): Start | null {
  if (isShallow(request)) return { key: request.range.from, skip: skippedBy(request) };
  return estimated === null || estimated.boundaryCounts.length > 0 ? null : estimated.start;
}

function countWithin(
  { lower, upper }: Estimate,
  stamp: Stamp | null,
  request: RankedRequest,
): number {
  return Math.max(0, (request.range.to === null ? countFromStamp(stamp, request) : upper) - lower);
}

interface Reads {
  /** All of one snapshot. */
  read: (asked: TreeRead) => Promise<TreeReadResult>;
  /** Whether there can be no second one. */
  isOnce: boolean;
}

/** `null` also if more would have to be read than there can be. */
async function descend(
  view: View,
  request: RankedRequest,
  { guessed, ...first }: FirstRead,
  { read, isOnce }: Reads,
): Promise<CountedPage | null> {
  const { tree } = request;
  let rows = await read(first);
  const { stamp, page } = rows;
  const { levels, version } = stamp?.ranks?.[tree.name] ?? {};
  if (stamp === null || levels === undefined) return null;

  const nodes = new Map<string, Packed>();
  const nodeOf = (id: string) => nodes.get(id) ?? cachedNode(view, version, id);
  const boundaryCounts = new Map<string, number>();
  for (;;) {
    for (const [id, node] of rows.nodes) {
      nodes.set(id, node);
      // A copy, because the bytes are a view that would keep the whole reply in memory.
      const copy = {
        ...node,
        counts: Uint8Array.from(node.counts),
        version,
        totals: sumCounts(node, null),
      };
      view.shared.caches.nodes.set(view.shared.key(id), copy);
    }
    for (const [name, count] of rows.boundaryCounts) boundaryCounts.set(name, count);
    const descent = descentOf({ ...request, storeId: view.storeId, levels, nodeOf });
    const found = estimateFrom(descent, request, boundaryCounts);
    const { missing } = found;
    if (missing.size === 0 && found.boundaryCounts.length === 0) {
      const count = countWithin(found, stamp, request);
      const start = expectedStart(request, found);
      if (skippedBy(request) >= count || start === null) return { rows: [], stamp, count };
      if (first.page?.key === start.key && first.page.skip === start.skip)
        return { rows: page, stamp, count };
      if (isOnce) return null;
      const last = await read({ page: start, nodes: [], boundaryCounts: [] });
      return { rows: last.page, stamp, count };
    }
    if (isOnce) return null;
    rows = await read({
      page: null,
      // If the cache was wrong, all expected nodes are read at once.
      nodes: missing.size === 0 ? [] : new Set([...missing, ...guessed]),
      boundaryCounts: found.boundaryCounts,
    });
    // A damaged tree: a parent names a node that does not exist.
    if ([...missing].some((id) => !rows.nodes.has(id))) return null;
  }
}

/** About how many records a range holds; 0 if unknown. */
export function estimatedCount(estimated: Estimate | null): number {
  return estimated === null || estimated.missing.size > 0 ? 0 : estimated.upper - estimated.lower;
}

/** An estimate from cached nodes; `null` if the tree was not read yet. */
export function estimate(view: View, request: RankedRequest): Estimate | null {
  const { shared, storeId } = view;
  const levels = lastStamp(view, storeId)?.ranks?.[request.tree.name]?.levels;
  if (levels === undefined) return null;
  const nodeOf = (id: string) => shared.caches.nodes.get(shared.key(id));
  const descent = descentOf({ ...request, storeId, levels, nodeOf });
  return estimateFrom(descent, request, new Map());
}

type Estimate = ReturnType<typeof estimateFrom>;

/**
 * The result of the known nodes: exact if no node or count is missing.
 * @param boundaryCounts the counts so far, by `boundaryName`.
 */
function estimateFrom(
  descent: Descent,
  request: RankedRequest,
  boundaryCounts: ReadonlyMap<string, number>,
) {
  const { from, to } = request.range;
  const unknown: Edge[] = [];
  /** The lowest possible rank of a key, and its uncertainty. */
  const rankOf = (key: string): { rank: number; uncertainty: number } => {
    const edge = descent.edgeAt(key);
    if (edge === null) return { rank: 0, uncertainty: 0 };
    if (edge.leaf.boundary === key) return { rank: edge.before, uncertainty: 0 };
    const count = boundaryCounts.get(boundaryName(edge));
    if (count === undefined) unknown.push(edge);
    return {
      rank: edge.before + (count ?? 0),
      uncertainty: count === undefined ? edge.leaf.count : 0,
    };
  };
  const lower = from === '' ? { rank: 0, uncertainty: 0 } : rankOf(from);
  const upper = to === null ? { rank: Infinity, uncertainty: 0 } : rankOf(to);
  const first = lower.rank + skippedBy(request);
  let start: Start | null = null;
  if (!isShallow(request) && descent.missing.size === 0 && first < upper.rank + upper.uncertainty) {
    start = descent.startAt(first);
    // The page begins between the two: both visit their nodes.
    if (lower.uncertainty > 0) descent.startAt(first + lower.uncertainty);
  }
  return {
    /** The nodes that it needed, and the unknown ones among them. */
    visited: descent.visited,
    missing: descent.missing,
    /** Leaves whose records before a bound still have to be counted. */
    boundaryCounts: unknown,
    /** Ranks of the range's bounds. */
    lower: lower.rank,
    upper: upper.rank + upper.uncertainty,
    start,
  };
}
