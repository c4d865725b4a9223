/** The descent of a rank tree to a key or a rank, through nodes that were read. Pure. */
import { indexOfKey } from '#shared/read-models/rank-tree/keys.ts';
import { nodeId, type Packed, sumCounts } from '#shared/read-models/rank-tree/nodes.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';

/** The position of a key, without the records before it in its own leaf. */
export interface Edge {
  key: string;
  /** The leaf of the key, and how many of its records match. */
  leaf: { boundary: string; count: number };
  /** How many match before that leaf. */
  before: number;
}

/** Names the count of the records before a bound in a leaf. */
export function boundaryName({ key, leaf: { boundary } }: Edge): string {
  return `${key}\n${boundary}`;
}

/** The position of a rank: `skip` records after the boundary of a leaf. */
export interface Start {
  key: string;
  skip: number;
}

interface DescentOptions {
  tree: Pick<RankTree, 'name'>;
  storeId: string;
  levels: number;
  /** The facets that count; `null` if all do. */
  facets: readonly string[] | null;
  nodeOf: (id: string) => Packed | undefined;
}

interface SummedNode {
  boundaries: readonly string[];
  sums: readonly number[];
}

export type Descent = ReturnType<typeof descentOf>;

export function descentOf({ tree, storeId, levels, facets, nodeOf }: DescentOptions) {
  /** `_id`s of the nodes that it needed, and of the missing ones among them. */
  const visited = new Set<string>();
  const missing = new Set<string>();
  const nodes = new Map<string, SummedNode>();

  /** The position of a key; `null` if a node on the way is missing. */
  function edgeAt(key: string): Edge | null {
    let edge: Edge = { key, leaf: { boundary: '', count: 0 }, before: 0 };
    for (let level = levels - 1; level >= 0; level -= 1) {
      const node = nodeAt(level, edge.leaf.boundary);
      if (node === null) return null;
      const { boundaries, sums } = node;
      const index = indexOfKey(boundaries.length, (at) => boundaries[at] ?? '', key);
      let { before } = edge;
      for (const count of sums.slice(0, index)) before += count;
      edge = { key, leaf: { boundary: boundaries[index] ?? '', count: sums[index] ?? 0 }, before };
    }
    return edge;
  }

  /** The position of a rank; `null` if a node on the way is missing, or there is no such record. */
  function startAt(rank: number): Start | null {
    let start: Start = { key: '', skip: rank };
    for (let level = levels - 1; level >= 0; level -= 1) {
      const node = nodeAt(level, start.key);
      if (node === null) return null;
      let { skip } = start;
      const index = node.sums.findIndex((count) => {
        if (skip < count) return true;
        skip -= count;
        return false;
      });
      if (index === -1) return null;
      start = { key: node.boundaries[index] ?? '', skip };
    }
    return start;
  }

  /** The node of a level that begins at a boundary, and how many records of each part match. */
  function nodeAt(level: number, boundary: string): SummedNode | null {
    const id = nodeId(tree.name, storeId, level, boundary);
    const known = nodes.get(id);
    if (known !== undefined) return known;
    visited.add(id);
    const node = nodeOf(id);
    if (node === undefined) {
      missing.add(id);
      return null;
    }
    const summed = { boundaries: node.boundaries, sums: sumCounts(node, facets) };
    nodes.set(id, summed);
    return summed;
  }

  return { visited, missing, edgeAt, startAt };
}
