/**
 * Nodes of rank trees as they were read last. Nothing is answered from them: they tell which nodes the next request
 * needs, so that it asks for all of them at once, in its own snapshot, and not for one level after the other.
 */
import { LRUCache } from 'lru-cache';
import type { Packed } from '#shared/read-models/rank-tree/packed-counts.ts';
import type { TreeName } from '#shared/read-models/rank-tree/nodes.ts';
import type { View } from '../view.ts';

/** In bytes, about. */
const REMEMBERED_BYTES = 8_000_000;
/** Beside its characters, each of which may take two. */
const BYTES_OF_A_BOUNDARY = 40;
const REMEMBERED_TREES = 20_000;
/** Boundaries may be the beginnings of names. */
const REMEMBERED_MS = 300_000;

const nodes = new LRUCache<string, Packed>({
  maxSize: REMEMBERED_BYTES,
  sizeCalculation: ({ boundaries, counts }) =>
    boundaries.reduce((sum, { length }) => sum + BYTES_OF_A_BOUNDARY + length * 2, counts.length),
  ttl: REMEMBERED_MS,
});
const levels = new LRUCache<string, number>({ max: REMEMBERED_TREES });

/** The node that had an `_id` when it was read last. */
export function rememberedNode({ generation }: View, id: string): Packed | undefined {
  return nodes.get(`${generation.marker.id}/${id}`);
}

export function rememberNode({ generation }: View, id: string, node: Packed): void {
  // What was read is a piece of the whole answer, which shall not stay in memory with it.
  nodes.set(`${generation.marker.id}/${id}`, { ...node, counts: Uint8Array.from(node.counts) });
}

/** How many levels a tree had when it was read last. */
export function rememberedLevels({ generation, storeId }: View, tree: TreeName): number | undefined {
  return levels.get(`${generation.marker.id}/${tree}/${storeId}`);
}

export function rememberLevels({ generation, storeId }: View, tree: TreeName, count: number): void {
  levels.set(`${generation.marker.id}/${tree}/${storeId}`, count);
}
