/**
 * A cache of nodes of rank trees. Nothing is answered from it: it tells which nodes the next request
 * needs, so that the request asks for all of them at once, in its own snapshot, and not for one level after the other.
 */
import { LRUCache } from 'lru-cache';
import type { Packed } from '#shared/read-models/rank-tree/packed-counts.ts';
import type { TreeName } from '#shared/read-models/rank-tree/nodes.ts';
import type { View } from '../view.ts';

/** In bytes, about. */
const CACHED_BYTES = 8_000_000;
/** Beside its characters, each of which may take two. */
const BYTES_OF_A_BOUNDARY = 40;
const CACHED_TREES = 20_000;
/** Boundaries may be the beginnings of names. */
const CACHED_MS = 300_000;

const nodes = new LRUCache<string, Packed>({
  maxSize: CACHED_BYTES,
  sizeCalculation: ({ boundaries, counts }) =>
    boundaries.reduce((sum, { length }) => sum + BYTES_OF_A_BOUNDARY + length * 2, counts.length),
  ttl: CACHED_MS,
});
const levels = new LRUCache<string, number>({ max: CACHED_TREES });

/** The node that had an `_id` when it was read last. */
export function cachedNode({ generation }: View, id: string): Packed | undefined {
  return nodes.get(`${generation.marker.id}/${id}`);
}

export function cacheNode({ generation }: View, id: string, node: Packed): void {
  // What was read is a piece of the whole answer, which must not stay in memory with it.
  nodes.set(`${generation.marker.id}/${id}`, { ...node, counts: Uint8Array.from(node.counts) });
}

/** How many levels a tree had when it was read last. */
export function cachedLevels({ generation, storeId }: View, tree: TreeName): number | undefined {
  return levels.get(`${generation.marker.id}/${tree}/${storeId}`);
}

export function cacheLevels({ generation, storeId }: View, tree: TreeName, count: number): void {
  levels.set(`${generation.marker.id}/${tree}/${storeId}`, count);
}
