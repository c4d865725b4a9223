import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RANK_TREES, type RankEntry, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import {
  splitPrepended,
  cutLeaves,
  leafOf,
  type Part,
} from '#shared/projection/rank-tree/nodes.ts';
import { LoadedTree } from '#shared/projection/rank-tree/loaded-tree.ts';

const tree: RankTree = { ...RANK_TREES.order, leafRecords: 10, nodeParts: 4 };
/** Sorted records: keys of five digits, three facets. */
const records = (from: number, to: number): RankEntry[] =>
  Array.from({ length: to - from }, (_, at) => ({
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

describe('a tree of many leaves', () => {
  /** A stored tree, and a leaf that is the first of its node and not of the tree. */
  function stored() {
    const leaves = cutLeaves(tree, '', records(0, 1_000));
    const loaded = LoadedTree.of(tree, leaves);
    const nodes = loaded.takeChanged(tree, 's1');
    const above = nodes.find(({ _id }) => _id === 'order/s1/1/');
    const boundary = above?.boundaries[1] ?? '';
    const place = loaded.count({ tree: 'order', key: boundary.padEnd(5, '0'), facet: 'f0' }, -1);
    if (place === null) throw new Error('no such leaf');
    return { loaded, boundary, place, levels: loaded.levels };
  }

  it('writes a node of each level if the first leaf of a node begins elsewhere, and removes the former one', () => {
    const { loaded, boundary, place, levels } = stored();
    place.leaf.boundary = `${boundary}5`;
    loaded.divideCrowded(tree);
    const written = loaded.takeChanged(tree, 's1').map(({ _id }) => _id);
    expect([written.length, written.at(-1)]).toEqual([levels, `order/s1/0/${boundary}5`]);
    expect(loaded.takeObsolete(tree, 's1')).toEqual([`order/s1/0/${boundary}`]);
    expect([loaded.takeChanged(tree, 's1'), loaded.takeObsolete(tree, 's1')]).toEqual([[], []]);
  });

  it('loses a node without leaves', () => {
    const { loaded, boundary, place, levels } = stored();
    place.node.parts = [];
    loaded.divideCrowded(tree);
    const written = loaded.takeChanged(tree, 's1');
    expect(written).toHaveLength(levels - 1);
    expect(written.at(-1)?.boundaries).not.toContain(boundary);
    expect(loaded.takeObsolete(tree, 's1')).toEqual([`order/s1/0/${boundary}`]);
  });

  it('has the necessary levels, and no node with too many parts', () => {
    const leaves = cutLeaves(tree, '', records(0, 1_000));
    expectRight(leaves, records(0, 1_000));
    const loaded = LoadedTree.of(tree, leaves);
    expect([loaded.leaves, loaded.levels]).toEqual([leaves.length, 5]);
    const nodes = loaded.takeChanged(tree, 's1');
    for (const { boundaries } of nodes)
      expect(boundaries.length).toBeLessThanOrEqual(tree.nodeParts);
    expect(nodes.filter(({ _id }) => _id.startsWith('order/s1/4/'))).toHaveLength(1);
    expect(loaded.takeChanged(tree, 's1')).toEqual([]);
    const lowest = nodes.filter(({ _id }) => _id.startsWith('order/s1/0/'));
    expect(lowest.flatMap(({ boundaries }) => boundaries)).toEqual(
      leaves.map(({ boundary }) => boundary),
    );
  });
});
