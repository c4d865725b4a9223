import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Counts,
  type Packed,
  packCounts,
  sumCounts,
  unpackCounts,
} from '#shared/read-models/rank-tree/nodes.ts';

/** Numbers of every width, and negative ones as in damaged trees. */
const count = fc.oneof(
  fc.integer({ min: 0, max: 512 }),
  fc.constantFrom(127, 128, 32_767, 32_768, 2 ** 31 - 1, 2 ** 31, 2 ** 40, -1, -129),
);
const parts = fc.array(fc.dictionary(fc.constantFrom('ga1', 'ga0', 'hb1', 'a'), count), {
  minLength: 1,
  maxLength: 64,
});

function totalOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, number) => sum + number, 0);
}

function packed(all: Record<string, number>[]): Packed {
  const { facets, counts } = packCounts(
    all.map((counts): Counts => ({ total: totalOf(counts), counts })),
  );
  return { boundaries: all.map((_, part) => `b${part}`), facets, counts: counts.buffer };
}

it('packed counts unpack to what was packed, without zeros, and are summed for some facets, or for all', () => {
  fc.assert(
    fc.property(parts, fc.subarray(['ga1', 'ga0', 'hb1', 'a', 'none']), (all, facets) => {
      const those = packed(all);
      expect(unpackCounts(those)).toEqual(
        all.map((counts) => ({
          total: totalOf(counts),
          counts: Object.fromEntries(Object.entries(counts).filter(([, number]) => number !== 0)),
        })),
      );
      const sums = all.map((counts) =>
        facets.reduce((sum, facet) => sum + (counts[facet] ?? 0), 0),
      );
      expect(sumCounts(those, facets)).toEqual(sums);
      expect(sumCounts(those, null)).toEqual(all.map(totalOf));
    }),
  );
});
