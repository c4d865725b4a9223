import { describe, expect, it } from 'vitest';
import { CHECKPOINTS, DEAD_LETTERS, INDEXES, STAMPS } from '#shared/read-models/collections.ts';
import { rangesOfPartition, rangesOfStore, SHARDING, type ShardRange } from '#shared/read-models/sharding.ts';

const COLLECTIONS = Object.keys(SHARDING) as (keyof typeof SHARDING)[];

/** Ids that are adjacent in the sort order in every possible way. */
const STORES = ['s1', 's1-', 's1-a', 's10', 's1_', 's1a', 's', 'S1', 's11', 's1--'];

/** Whether two ranges of strings, or of keys with the store first, overlap. */
function overlap(a: ShardRange, b: ShardRange): boolean {
  const [field = ''] = Object.keys(a.min);
  const [aMin, aMax, bMin, bMax] = [a.min, a.max, b.min, b.max].map((end) => String(end[field])) as [
    string,
    string,
    string,
    string,
  ];
  return field === 'store_id' ? aMin === bMin : aMin < bMax && bMin < aMax;
}

describe('the ranges of shard keys', () => {
  it('exist for every collection of a generation, and never overlap for two stores or partitions', () => {
    expect(COLLECTIONS.toSorted()).toEqual([...Object.keys(INDEXES), 'generation'].toSorted());
    for (const name of COLLECTIONS) {
      const ofStores = STORES.map((store) => rangesOfStore(name, store));
      const ofPartitions = [0, 1, 2, 10, 11, 100].map((partition) => rangesOfPartition(name, 't-1', partition));
      const owner = SHARDING[name].owner?.is ?? 'nobody';
      expect([name, ofStores.flat().length > 0, ofPartitions.flat().length > 0]).toEqual([
        name,
        owner === 'store',
        owner === 'partition',
      ]);
      const all = [...ofStores, ...ofPartitions].flat();
      const pairs = all.flatMap((a, at) => all.slice(at + 1).map((b) => [a, b] as const));
      expect(pairs.filter(([a, b]) => overlap(a, b))).toEqual([]);
    }
  });

  it.each([
    ['orders', { store_id: 's1' }],
    ['tombstones', { store_id: 's1' }],
    ['stores', { _id: 's1/s1' }],
    ['category_products', { _id: 's1/' }],
    [STAMPS, { _id: 's1' }],
    ['rank_nodes', { _id: 'customer_created/s1/0/abc' }],
    ['store_records_pending', { _id: 's1/17' }],
    ['erasures', { _id: 's1/c1' }],
    ['rewritings', { _id: 's1/erasures' }],
  ] as const)('of a store contain its documents in %s', (name, document) => {
    const within = (range: ShardRange) =>
      Object.entries(document).every(([field, value]) =>
        field === 'store_id'
          ? range.min[field] === value
          : String(range.min[field]) <= value && value < String(range.max[field]),
      );
    expect(rangesOfStore(name, 's1').filter(within)).toHaveLength(1);
    expect(rangesOfStore(name, 's2').filter(within)).toEqual([]);
  });

  it('of a partition contain its checkpoint and its dead letters', () => {
    expect(rangesOfPartition(CHECKPOINTS, 'store-changes.a', 1)).toEqual([
      { min: { _id: 'store-changes.a/1' }, max: { _id: 'store-changes.a/1/' } },
    ]);
    expect(rangesOfPartition(DEAD_LETTERS, 'store-changes.a', 1)).toEqual([
      { min: { _id: 'store-changes.a/1/' }, max: { _id: 'store-changes.a/10' } },
    ]);
  });

  it('need no unique index except that of ids', () => {
    const unique = Object.values(INDEXES)
      .flat()
      .filter((index) => 'unique' in index);
    expect(unique).toEqual([]);
  });
});
