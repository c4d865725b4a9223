import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RANK_TREES, type RankEntry, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import {
  splitPrepended,
  cutLeaves,
  leafOf,
  type Part,
} from '#shared/projection/rank-tree/nodes.ts';
import { times } from '#test/times.ts';
import { LoadedTree } from '#shared/projection/rank-tree/loaded-tree.ts';

const tree: RankTree = { ...RANK_TREES.order, leafRecords: 10, nodeParts: 4 };
/** Sorted records: keys of five digits, three facets. */
const records = (from: number, to: number): RankEntry[] =>
  times(to - from, (at) => ({
    tree: 'order',
    key: String(from + at).padStart(5, '0'),
    facet: `f${(from + at) % 3}`,
  }));

/** Asserts that each leaf counts the records from its boundary to the next. */
function expectRight(leaves: readonly Part[], all: readonly RankEntry[]): void {
  for (const [index, { boundary, total, counts }] of leaves.entries()) {
    const end = leaves[index + 1]?.boundary ?? '~';
    const covered = all.filter(({ key }) => key >= boundary && key < end);
    const counted = leafOf(tree, boundary, covered);
    expect([total, counts]).toEqual([counted.total, expect.objectContaining(counted.counts)]);
    expect(total).toBeLessThanOrEqual(tree.leafRecords);
  }
}

describe('a leaf with new records at its front', () => {
  it('is split without reading its old records', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 1, max: 60 }), (had, came) => {
        fc.pre(had + came > tree.leafRecords);
        const all = records(0, came + had);
        const leaf = { ...leafOf(tree, '', all), lowest: String(came).padStart(5, '0') };
        const leaves = splitPrepended(tree, leaf, all.slice(0, came)) ?? [];
        expect(leaves.length).toBeGreaterThan(1);
        expectRight(leaves, all);
        expect(leaves.map(({ lowest }) => lowest)).toEqual(
          leaves.map(({ boundary }) => all.find(({ key }) => key >= boundary)?.key),
        );
      }),
    );
  });

  it('is read if a new record is in the middle, or the position is unknown', () => {
    const all = records(0, 12);
    const leaf = leafOf(tree, '', all);
    const lowest = '00003';
    expect(splitPrepended(tree, { ...leaf, lowest }, all.slice(0, 3))).not.toBeNull();
    expect(
      splitPrepended(tree, { ...leaf, lowest }, [...all.slice(0, 2), ...all.slice(5, 6)]),
    ).toBeNull();
    const { lowest: _known, ...unknown } = leaf;
    expect(splitPrepended(tree, unknown, all.slice(0, 3))).toBeNull();
  });
});

it('a tree has the necessary levels, and no node with too many parts', () => {
  const all = records(0, 1_000);
  const leaves = cutLeaves(tree, '', all);
  expectRight(leaves, all);
  const loaded = LoadedTree.of(tree, leaves);
  expect([loaded.leaves, loaded.levels]).toEqual([leaves.length, 5]);
  const nodes = loaded.takeChanged(tree, 's1');
  for (const { boundaries } of nodes) expect(boundaries.length).toBeLessThanOrEqual(tree.nodeParts);
  const ofLevel = (level: number) =>
    nodes
      .filter(({ _id }) => _id.startsWith(`order/s1/${level}/`))
      .map(({ boundaries }) => boundaries);
  expect(ofLevel(4)).toHaveLength(1);
  expect(ofLevel(0).flat()).toEqual(leaves.map(({ boundary }) => boundary));
  expect(loaded.takeChanged(tree, 's1')).toEqual([]);
});
