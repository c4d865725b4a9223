import { expect, it } from 'vitest';
import {
  CHECKPOINTS,
  type CollectionName,
  DEAD_LETTERS,
  INDEXES,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { ofStore } from '#shared/read-models/sharding.ts';

/** Ids that are adjacent to `s1` in the sort order in every possible way. */
const OTHERS = ['s1-', 's1-a', 's10', 's1_', 's1a', 's', 'S1', 's11', 's1--'];

/** Whether a filter by ranges of ids, or by the store, finds a document. */
function finds(filter: object, document: { _id: string; store_id?: string }): boolean {
  const { $or: branches = [filter] } = filter as { $or?: object[] };
  return branches.some((branch) =>
    Object.entries(branch).every(
      ([field, wanted]: [string, string | { $gte: string; $lt: string }]) => {
        const value = document[field as keyof typeof document] ?? '';
        return typeof wanted === 'string'
          ? value === wanted
          : wanted.$gte <= value && value < wanted.$lt;
      },
    ),
  );
}

it('the shard keys need no unique index except that of ids', () => {
  const unique = Object.values(INDEXES)
    .flat()
    .filter((index) => 'unique' in index);
  expect(unique).toEqual([]);
});

const names: CollectionName[] = (Object.keys(INDEXES) as CollectionName[]).filter(
  (name) => name !== CHECKPOINTS && name !== DEAD_LETTERS,
);
const documentOf = (name: CollectionName, store: string) => {
  if (name === STAMPS) return { _id: store };
  if (name === 'rank_nodes') return { _id: `customer_created/${store}/0/abc` };
  return { _id: `${store}/x`, store_id: store };
};

it.each(names)(
  'the filter of a store’s documents finds those in %s, and none of another store',
  (name) => {
    const filter = ofStore(name, 's1');
    expect(finds(filter, documentOf(name, 's1')), name).toBe(true);
    expect(OTHERS.filter((store) => finds(filter, documentOf(name, store)))).toEqual([]);
  },
);
