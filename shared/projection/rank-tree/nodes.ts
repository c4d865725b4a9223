/** Nodes of a tree in memory; cuts records into leaves, and nodes into several. Pure. */
import { boundaryBetween, compareKeys, indexOfKey } from '../../read-models/rank-tree/keys.ts';
import {
  type Counts,
  type RankNode,
  packCounts,
  unpackCounts,
} from '../../read-models/rank-tree/nodes.ts';
import { bytesOfTexts, type SearchTexts } from '../../read-models/search-texts.ts';
import type { RankEntry, RankTree } from '../../read-models/rank-tree/trees.ts';

/** A part of a node: a leaf, or what the node below covers. */
export interface Part extends Counts {
  boundary: string;
  /** The node below; `null` at level 0, or if it is not loaded. */
  below: TreeNode | null;
  /** Of a leaf in the tree that is searched: bytes of its texts. */
  bytes?: number;
  /** In a leaf, if known: no record has a lower key. */
  lowest?: string;
}

export class TreeNode {
  readonly level: number;
  parts: Part[];
  /** Whether it must be written. */
  isChanged: boolean;

  constructor(level: number, parts: Part[], isChanged = true) {
    this.level = level;
    this.parts = parts;
    this.isChanged = isChanged;
  }

  /** @param level the one that its `_id` names. */
  static ofStored(level: number, { boundaries, facets, counts, bytes }: RankNode): TreeNode {
    const counted = unpackCounts({ boundaries, facets, counts: counts.buffer });
    const parts = boundaries.map((boundary, index): Part => ({
      boundary,
      below: null,
      ...(counted[index] ?? { total: 0, counts: {} }),
      ...(bytes !== undefined && { bytes: bytes[index] ?? 0 }),
    }));
    return new TreeNode(level, parts, false);
  }

  get boundary(): string {
    return this.parts[0]?.boundary ?? '';
  }

  content(): Omit<RankNode, '_id' | 'store_id'> {
    const hasBytes = this.parts.some(({ bytes }) => bytes !== undefined);
    return {
      boundaries: this.parts.map(({ boundary }) => boundary),
      ...packCounts(this.parts),
      ...(hasBytes && { bytes: this.parts.map(({ bytes = 0 }) => bytes) }),
    };
  }

  indexOf(key: string): number {
    return indexOfKey(this.parts.length, (index) => this.parts[index]?.boundary ?? '', key);
  }

  asPart(): Part {
    return { boundary: this.boundary, below: this, ...addUpParts(this.parts) };
  }
}

export function addUpParts(parts: readonly Counts[]): Counts {
  const sum: Counts = { total: 0, counts: {} };
  for (const { total, counts } of parts) {
    sum.total += total;
    for (const [facet, count] of Object.entries(counts))
      sum.counts[facet] = (sum.counts[facet] ?? 0) + count;
  }
  return sum;
}

export interface CutLeaf extends Part {
  texts?: SearchTexts;
}

/**
 * @param from where the first leaf begins.
 * @param records in order of their keys.
 * @returns at least one leaf.
 */
export function cutLeaves(tree: RankTree, from: string, records: readonly RankEntry[]): CutLeaf[] {
  const { leafRecords, leafBytes } = tree;
  // By the bytes of their texts, so that a leaf is within both bounds.
  const weights = records.map(({ texts }) =>
    texts === undefined ? 1 : Math.max(1, (bytesOfTexts(texts) * leafRecords) / leafBytes),
  );
  const sizes = partSizes(weights, leafRecords, tree.grows === 'in front' && from === '');
  let start = 0;
  return sizes.map((size): CutLeaf => {
    const part = records.slice(start, start + size);
    const [left, right] = [records[start - 1], part[0]];
    start += size;
    const boundary =
      left === undefined || right === undefined ? from : boundaryBetween(left.key, right.key);
    return leafOf(tree, boundary, part);
  });
}

/**
 * Cuts a leaf whose new records all lie before its old ones, without reading those: the last new leaf keeps them.
 * @param leaf counts the new records already. @returns `null` if they lie among the others, or that is unknown.
 */
export function splitPrepended(
  tree: RankTree,
  leaf: Part,
  added: readonly RankEntry[],
): Part[] | null {
  const [first, last] = [added[0], added.at(-1)];
  const { boundary, total, counts, lowest } = leaf;
  if (tree.searched || lowest === undefined || first === undefined || last === undefined)
    return null;
  const before = total - added.length;
  if (compareKeys(last.key, lowest) >= 0 || before > tree.leafRecords) return null;
  const full = Math.max(before, Math.floor(tree.leafRecords * FULL));
  const kept = added.slice(Math.max(0, total - full));
  const front = added.slice(0, added.length - kept.length);
  const [right = { key: lowest }] = kept;
  const left = front.at(-1);
  if (left === undefined) return null;
  const behind: Part = {
    boundary: boundaryBetween(left.key, right.key),
    below: null,
    total: before + kept.length,
    counts: { ...counts },
    lowest: right.key,
  };
  for (const { facet } of front) behind.counts[facet] = (behind.counts[facet] ?? 0) - 1;
  return [...cutLeaves(tree, boundary, front), behind];
}

export function leafOf(tree: RankTree, boundary: string, records: readonly RankEntry[]): CutLeaf {
  const counts: Record<string, number> = {};
  for (const { facet } of records) counts[facet] = (counts[facet] ?? 0) + 1;
  const [first] = records;
  return {
    boundary,
    below: null,
    total: records.length,
    counts,
    ...(first !== undefined && { lowest: first.key }),
    ...(tree.searched && textsOf(records)),
  };
}

function textsOf(records: readonly RankEntry[]): Required<Pick<CutLeaf, 'texts' | 'bytes'>> {
  const all = (name: keyof SearchTexts) => records.map(({ texts }) => texts?.[name] ?? '').join('');
  const texts = { names: all('names'), numbers: all('numbers') };
  return { texts, bytes: bytesOfTexts(texts) };
}

/**
 * Divides a node with too many parts into neighbours, of which the first is the node itself. Other
 * nodes stay.
 */
export function divide({ grows, nodeParts }: RankTree, node: TreeNode): TreeNode[] {
  const { level, parts } = node;
  if (parts.length <= nodeParts) return [node];
  const isFront = grows === 'in front' && node.boundary === '';
  const [first = 0, ...others] = partSizes(
    Array.from(parts, () => 1),
    nodeParts,
    isFront,
  );
  node.parts = parts.slice(0, first);
  node.isChanged = true;
  let start = first;
  return [
    node,
    ...others.map((size) => {
      start += size;
      return new TreeNode(level, parts.slice(start - size, start));
    }),
  ];
}

/** How full parts are made that hardly grow, and those that may. */
const FULL = 0.9;
const HALF_FULL = 0.6;

/**
 * Sizes of parts of about the same weight. If new ones come in front, the parts behind become
 * nearly full and the front one small, so that it is not cut again soon.
 */
function partSizes(weights: readonly number[], most: number, front: boolean): number[] {
  const { length } = weights;
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  if (all <= most * HALF_FULL) return [length];
  if (front) {
    const full = Math.floor(most * FULL);
    const behind = Math.floor((length - 1) / full);
    return [length - behind * full, ...Array.from({ length: behind }, () => full)];
  }
  const parts = Math.ceil(all / (most * HALF_FULL));
  const sizes: number[] = [];
  let size = 0;
  let reached = 0;
  for (const weight of weights) {
    const isFull = reached + weight > ((sizes.length + 1) * all) / parts;
    if (isFull && size > 0 && sizes.length + 1 < parts) {
      sizes.push(size);
      size = 0;
    }
    reached += weight;
    size += 1;
  }
  return [...sizes, size];
}
