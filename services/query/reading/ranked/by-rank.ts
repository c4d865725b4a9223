/**
 * A page and its count from the rank tree, all in one snapshot and, nearly always, two round trips: the nodes on the way to the
 * bounds of the range and to the page, with what comes before the bounds in the leaves that they cut; then the page. Which
 * nodes those are, the cache says; what it says wrongly or not at all is read first.
 */
import type { Stamp } from '#shared/read-models/collections.ts';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { nodeId } from '#shared/read-models/rank-tree/nodes.ts';
import type { Packed } from '#shared/read-models/rank-tree/packed-counts.ts';
import { type CountedPage, type PageRow, skippedBy } from '../page.ts';
import type { View } from '../shared-reads.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { cutName, Descent, type Edge, type Start } from './descent.ts';
import { readTogether, type Together } from './read-together.ts';
import { ALL, walk } from '../walk.ts';
import { countFromStamp, indexFor, isShallow, matching, type RankedRequest } from './request.ts';

/** Of a tree that was not read yet the uppermost node is one of these; with a fourth level it has a hundred million records. */
const TOP_LEVELS = [0, 1, 2];

/** Reads a page within a range of keys. @param estimated what `estimate` says of it. */
export async function readByRank(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  range: KeyRange,
  estimated: Finding | null = estimate(view, request, range),
): Promise<CountedPage> {
  const { tree } = request;
  const { from, to } = range;
  const skip = skippedBy(request);
  const shallow: Start | null = isShallow(request, skip) ? { key: from, skip } : null;
  const together = (asked: Together) => readTogether(read, view, request, to, asked);

  let rows = await together({
    page: shallow,
    nodes: estimated?.visited ?? TOP_LEVELS.map((level) => nodeId(tree.name, view.storeId, level, '')),
    cuts: estimated?.cuts ?? [],
  });
  const { stamp, page } = rows;
  const levels = stamp?.ranks?.[tree.name]?.levels;
  const walkThem = () =>
    walk(
      view,
      {
        ...request,
        entity: tree.entity,
        match: matching(view.storeId, request, range),
        sort: { [tree.keyField]: 1 },
        index: indexFor(request),
        count: ALL,
      },
      read,
    );
  if (stamp === null || levels === undefined) return walkThem();

  const nodes = new Map<string, Packed>();
  const cuts = new Map<string, number>();
  for (;;) {
    for (const [id, node] of rows.nodes) {
      nodes.set(id, node);
      // What was read is a piece of the whole answer, which must not stay in memory with it.
      const copy = { ...node, counts: Uint8Array.from(node.counts) };
      view.shared.caches.nodes.set(view.shared.key(id), copy);
    }
    for (const [cut, count] of rows.cuts) cuts.set(cut, count);
    const found = findOut({ view, request, range, levels, nodeOf: (id) => nodes.get(id), cuts });
    const missing = [...found.visited].filter((id) => !nodes.has(id));
    if (missing.length === 0 && found.cuts.length === 0) {
      return finish(found, stamp, shallow === null ? null : page);
    }
    rows = await together({ page: null, nodes: missing, cuts: found.cuts });
    // A node that another one names, and that is not there: the tree is damaged, and the records are right.
    if (rows.nodes.size < missing.length) return walkThem();
  }

  async function finish(found: Finding, ofStamp: Stamp, shallowPage: PageRow[] | null): Promise<CountedPage> {
    const end = to === null ? countFromStamp(ofStamp, request) : found.upper;
    const count = Math.max(0, end - found.lower);
    if (shallowPage !== null) return { rows: shallowPage, stamp, count };
    if (skip >= count || found.start === null) return { rows: [], stamp, count };
    const { page: shown } = await together({ page: found.start, nodes: [], cuts: [] });
    return { rows: shown, stamp, count };
  }
}

/** About how many records a range holds; 0 where that is not known. */
export function estimatedCount(estimated: Finding | null): number {
  return estimated === null || estimated.isShort ? 0 : estimated.upper - estimated.lower;
}

/** What follows for a page from what was read last; `null` where nothing of the tree was. */
export function estimate(view: View, request: RankedRequest, range: KeyRange): Finding | null {
  const { shared, storeId } = view;
  const levels = shared.hintOf(storeId).levels?.[request.tree.name];
  if (levels === undefined) return null;
  return findOut({
    view,
    request,
    range,
    levels,
    nodeOf: (id) => shared.caches.nodes.get(shared.key(id)),
    cuts: new Map(),
  });
}

interface Known {
  view: View;
  request: RankedRequest;
  range: KeyRange;
  levels: number;
  nodeOf: (id: string) => Packed | undefined;
  /** By `cutName`. */
  cuts: ReadonlyMap<string, number>;
}

/** What follows from what is known: right where nothing more is asked for, and near to it else. */
interface Finding {
  /** The nodes that it needed. */
  visited: ReadonlySet<string>;
  /** Leaves of which is to be counted what comes before a bound. */
  cuts: Edge[];
  /** Whether a node was not there. */
  isShort: boolean;
  /** Ranks of the range's bounds. */
  lower: number;
  upper: number;
  start: Start | null;
}

function findOut({ view, request, range: { from, to }, levels, nodeOf, cuts }: Known): Finding {
  const { tree, facets } = request;
  const descent = new Descent({ tree: tree.name, storeId: view.storeId, levels, facets, nodeOf });
  const unknown: Edge[] = [];
  let isShort = false;
  /** The least rank that a key can have, and how much more it may be. */
  const rankOf = (key: string): { rank: number; doubt: number } => {
    const edge = descent.edgeAt(key);
    if (edge === null) {
      isShort = true;
      return { rank: 0, doubt: 0 };
    }
    if (edge.leaf.boundary === key) return { rank: edge.before, doubt: 0 };
    const cut = cuts.get(cutName(edge));
    if (cut === undefined) unknown.push(edge);
    return { rank: edge.before + (cut ?? 0), doubt: cut === undefined ? edge.leaf.count : 0 };
  };
  const lower = from === '' ? { rank: 0, doubt: 0 } : rankOf(from);
  const upper = to === null ? { rank: Infinity, doubt: 0 } : rankOf(to);
  const first = lower.rank + skippedBy(request);
  let start: Start | null = null;
  if (!isShallow(request, skippedBy(request)) && !isShort && first < upper.rank + upper.doubt) {
    start = descent.startAt(first);
    // Whatever the count will be, the page begins in one of these nodes.
    if (lower.doubt > 0) descent.startAt(first + lower.doubt);
  }
  return {
    visited: descent.visited,
    cuts: unknown,
    isShort,
    lower: lower.rank,
    upper: upper.rank + upper.doubt,
    start,
  };
}
