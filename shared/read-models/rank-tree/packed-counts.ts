/**
 * Counts as they are stored: for each facet a row, in it a number for each part, each of as many bytes as the largest takes, least
 * significant byte first. A node of 64 parts is so two kilobytes instead of fifteen, and read without a field for each number.
 */
import { Binary } from 'mongodb';
import type { Counts } from './nodes.ts';

/** Bytes of a number, and what it is below. Signed: what was damaged may count less than nothing, until it is repaired. */
const WIDTHS = [
  { width: 1, limit: 2 ** 7 },
  { width: 2, limit: 2 ** 15 },
  { width: 4, limit: 2 ** 31 },
  { width: 6, limit: 2 ** 47 },
] as const;

/** Packs the counts of neighbouring parts. */
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
  const { width } = WIDTHS.find(({ limit }) => largest < limit) ?? WIDTHS[3];
  const bytes = Buffer.alloc(facets.length * parts.length * width);
  let at = 0;
  for (const facet of facets) {
    for (const { counts } of parts) at = bytes.writeIntLE(counts[facet] ?? 0, at, width);
  }
  return { facets, counts: new Binary(bytes) };
}

/** Packed counts of some parts. */
export interface Packed {
  boundaries: readonly string[];
  facets: readonly string[];
  counts: Uint8Array;
}

/** How many records each part has of some facets; of all where `facets` is `null`. */
export function sumCounts(packed: Packed, facets: readonly string[] | null): number[] {
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

/** The counts of each part. */
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
): void {
  const width = counts.length / facets.length / boundaries.length;
  const bytes = Buffer.from(counts.buffer, counts.byteOffset, counts.byteLength);
  for (let part = 0; part < boundaries.length; part += 1) {
    take(part, bytes.readIntLE((row * boundaries.length + part) * width, width));
  }
}
