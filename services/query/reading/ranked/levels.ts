/** Finding keys and ranks in a level of a rank tree: nodes in order, with how many of their records count. Pure. */
import { compareKeys } from '#shared/read-models/rank-tree/keys.ts';

export interface LevelNode {
  boundary: string;
  /** How many of its records pass the filter. */
  count: number;
}

/** Index of the node that covers a key: the last whose boundary is not above it. */
export function indexOfKey(nodes: readonly LevelNode[], key: string): number {
  const above = nodes.findIndex(({ boundary }) => compareKeys(boundary, key) > 0);
  return above === -1 ? nodes.length - 1 : above - 1;
}

/** How many records come before the node at `index`. */
export function countBefore(nodes: readonly LevelNode[], index: number): number {
  let sum = 0;
  for (const { count } of nodes.slice(0, index)) sum += count;
  return sum;
}

/** Where the record with a rank lies: the node that covers it, and how many of that node's come before it; `null` beyond the end. */
export function indexOfRank(
  nodes: readonly LevelNode[],
  rank: number,
): { index: number; rest: number } | null {
  let rest = rank;
  for (const [index, { count }] of nodes.entries()) {
    if (rest < count) return { index, rest };
    rest -= count;
  }
  return null;
}
