/**
 * The nodes of rank trees as they are stored, and their `_id`s. The root is a part of the store's
 * stamp.
 */
import { Binary } from 'mongodb';
import type { SearchTexts } from '../search-texts.ts';
import { idsBelow } from './keys.ts';

export type TreeName = 'order' | 'review' | 'customer' | 'customer_created';

/**
 * How many records a part covers, in all and for each facet. A count that came to 0 may stay as
 * such.
 */
export interface Counts {
  total: number;
  counts: Record<string, number>;
}

/**
 * A node: neighbouring parts of a list, where each begins and what it counts. It reaches up to the
 * next node of its level.
 */
export interface RankNode {
  /**
   * `<tree>/<store id>/<level>/<boundary of the first part>`; the first boundary of a level is
   * empty.
   */
  _id: string;
  store_id: string;
  /**
   * Where its parts begin, in order. A part is a leaf at level 0, above it the node below that
   * begins there.
   */
  boundaries: string[];
  facets: string[];
  /** How many records each part has: for each facet a row with a number for each part, packed. */
  counts: Binary;
  /** Of leaves in the tree that is searched: how many bytes of texts each has. */
  bytes?: number[];
}

export interface LeafTexts {
  _id: string;
  store_id: string;
  total: number;
  texts: SearchTexts;
}

export interface Root {
  counts?: Record<string, number>;
  /** How many leaves the tree has; none while its records are too few to need them. */
  leaves?: number;
  /** How many levels of nodes lie above the leaves; of the uppermost there is one node. */
  levels?: number;
  /**
   * Changes with every change of a tree that has leaves: cached nodes are valid for one version.
   */
  version?: string;
}

/** 0 for the nodes whose parts are leaves; `leaf` for the texts of leaves. */
export type Level = number | 'leaf';

export function levelPrefix(tree: TreeName, storeId: string, level: Level): string {
  return `${tree}/${storeId}/${level}/`;
}

export function nodeId(tree: TreeName, storeId: string, level: Level, boundary: string): string {
  return levelPrefix(tree, storeId, level) + boundary;
}

// Filters without the store's id, so that damaged nodes are found too.
export const ofLevel = (tree: TreeName, storeId: string, level: Level) => ({
  _id: idsBelow(`${tree}/${storeId}/${level}`),
});
export const nodesOf = (tree: TreeName, storeId: string) => ({
  _id: idsBelow(`${tree}/${storeId}`),
});

/**
 * For each facet a row of numbers, one a part, of as many bytes as the largest takes. Signed:
 * damaged ones may be below 0.
 */
export const WIDTHS = [1, 2, 4, 6];

export function packCounts(parts: readonly Counts[]): { facets: string[]; counts: Binary } {
  let largest = 0;
  const present = new Set<string>();
  for (const { counts } of parts) {
    for (const [facet, count] of Object.entries(counts)) {
      if (count === 0) continue;
      present.add(facet);
      largest = Math.max(largest, Math.abs(count));
    }
  }
  const facets = [...present];
  const width = WIDTHS.find((bytes) => largest < 2 ** (8 * bytes - 1)) ?? 6;
  const bytes = Buffer.alloc(facets.length * parts.length * width);
  let at = 0;
  for (const facet of facets) {
    for (const { counts } of parts) at = bytes.writeIntLE(counts[facet] ?? 0, at, width);
  }
  return { facets, counts: new Binary(bytes) };
}

export interface Packed {
  boundaries: readonly string[];
  facets: readonly string[];
  counts: Uint8Array;
  /** The records of each part, of all facets, if they were added up before. */
  totals?: readonly number[];
}

/** How many records each part has of some facets; of all where `facets` is `null`. */
export function sumCounts(packed: Packed, facets: readonly string[] | null): readonly number[] {
  if (facets === null && packed.totals !== undefined) return packed.totals;
  const sums = packed.boundaries.map(() => 0);
  for (const [row, facet] of packed.facets.entries()) {
    if (facets === null || facets.includes(facet)) {
      eachInRow(packed, row, (part, count) => {
        sums[part] = (sums[part] ?? 0) + count;
      });
    }
  }
  return sums;
}

export function unpackCounts(packed: Packed): Counts[] {
  const parts = packed.boundaries.map((): Counts => ({ total: 0, counts: {} }));
  for (const [row, facet] of packed.facets.entries()) {
    eachInRow(packed, row, (index, count) => {
      const part = parts[index];
      if (part === undefined || count === 0) return;
      part.total += count;
      part.counts[facet] = count;
    });
  }
  return parts;
}

function eachInRow(
  { boundaries, facets, counts }: Packed,
  row: number,
  take: (part: number, count: number) => void,
) {
  const width = counts.length / facets.length / boundaries.length;
  const bytes = Buffer.from(counts.buffer, counts.byteOffset, counts.byteLength);
  for (let part = 0; part < boundaries.length; part += 1) {
    take(part, bytes.readIntLE((row * boundaries.length + part) * width, width));
  }
}
