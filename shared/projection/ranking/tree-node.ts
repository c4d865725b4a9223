/** Nodes of a tree in memory: those that lie on the way to what was changed. */
import { indexOfKey } from '../../read-models/rank-tree/keys.ts';
import { type Counts, type RankNode } from '../../read-models/rank-tree/nodes.ts';
import { packCounts, unpackCounts } from '../../read-models/rank-tree/packed-counts.ts';

/** A part of a node: a leaf, or what the node below covers. */
export interface Part extends Counts {
  boundary: string;
  /** The node that the part stands for; `null` at level 0, and where it is not loaded. */
  below: TreeNode | null;
  /** Of a leaf in the tree that is searched: bytes of its texts. */
  bytes?: number;
  /** Of a leaf, where it is known: no record of it has a key below this one. */
  lowest?: string;
}

export class TreeNode {
  readonly level: number;
  parts: Part[];
  /** Whether it is stored in another way, or not at all. */
  isChanged: boolean;

  private constructor(level: number, parts: Part[], isChanged: boolean) {
    this.level = level;
    this.parts = parts;
    this.isChanged = isChanged;
  }

  /** A node that is not stored yet. */
  static new(level: number, parts: Part[]): TreeNode {
    return new TreeNode(level, parts, true);
  }

  /** @param level the one that its `_id` names. */
  static ofStored(level: number, { boundaries, facets, counts, bytes }: RankNode): TreeNode {
    const counted = unpackCounts({ boundaries, facets, counts: counts.buffer });
    const parts = boundaries.map((boundary, index): Part => ({
      boundary,
      below: null,
      ...(counted[index] ?? { total: 0, counts: {} }),
      ...(bytes === undefined ? {} : { bytes: bytes[index] ?? 0 }),
    }));
    return new TreeNode(level, parts, false);
  }

  get boundary(): string {
    return this.parts[0]?.boundary ?? '';
  }

  /** What is stored of it, but for its name. */
  content(): Omit<RankNode, '_id' | 'store_id'> {
    const hasBytes = this.parts.some(({ bytes }) => bytes !== undefined);
    return {
      boundaries: this.parts.map(({ boundary }) => boundary),
      ...packCounts(this.parts),
      ...(hasBytes ? { bytes: this.parts.map(({ bytes = 0 }) => bytes) } : {}),
    };
  }

  /** Index of the part that covers a key. */
  indexOf(key: string): number {
    return indexOfKey(this.parts.length, (index) => this.parts[index]?.boundary ?? '', key);
  }

  /** The part that stands for it in the node above. */
  asPart(): Part {
    return { boundary: this.boundary, below: this, ...addUpParts(this.parts) };
  }
}

/** All parts together. */
export function addUpParts(parts: readonly Counts[]): Counts {
  const sum: Counts = { total: 0, counts: {} };
  for (const { total, counts } of parts) {
    sum.total += total;
    for (const [facet, count] of Object.entries(counts)) sum.counts[facet] = (sum.counts[facet] ?? 0) + count;
  }
  return sum;
}
