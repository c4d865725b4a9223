/** What tells whether a command suits a sharded cluster finds what does not. */
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { judge } from '#test/shard-targeting.ts';

const judged = (command: Document, transaction: string | null = null, database = 'p_e_g1') =>
  judge({ app: 'app', database, command, transaction });
const problems = (...of: Parameters<typeof judged>) => judged(...of).problems.map(({ what }) => what);

const BY_STORE = [{ $match: { store_id: 's1' } }];

describe('a command', () => {
  it.each<[string, Document]>([
    ['a find by store', { find: 'orders', filter: { store_id: 's1', rank_key: { $gt: 'a' } } }],
    ['a find by several stores', { find: 'orders', filter: { store_id: { $in: ['s1', 's2'] }, _id: 'x' } }],
    ['a find by id', { find: 'stamps', filter: { _id: { $eq: 's1' } } }],
    ['a find in a range of ids', { find: 'category_products', filter: { _id: { $gte: 's1/', $lt: 's10' } } }],
    [
      'a find by alternatives',
      { find: 'category_products', filter: { $or: [{ _id: 'a/b' }, { _id: { $gt: 'a/', $lt: 'a0' } }] } },
    ],
    ['a removal by store', { delete: 'orders', deletes: [{ q: { store_id: 's1' }, limit: 0 }] }],
    [
      'a join by store',
      {
        aggregate: 'stamps',
        pipeline: [{ $match: { _id: 's1' } }, { $lookup: { from: 'orders', foreignField: 'store_id' } }],
      },
    ],
    [
      'a join by a condition of its own',
      {
        aggregate: 'stamps',
        pipeline: [{ $match: { _id: 's1' } }, { $lookup: { from: 'orders', pipeline: BY_STORE } }],
      },
    ],
    ['an insertion', { insert: 'orders', documents: [{ _id: 's1/o1', store_id: 's1' }] }],
  ])('suits: %s', (_name, command) => {
    expect(problems(command)).toEqual([]);
  });

  it.each<[string, Document]>([
    ['a find by id alone', { find: 'orders', filter: { _id: 's1/o1' } }],
    ['a find by another field', { find: 'dead_letters', filter: { customers: 's1/c1' } }],
    ['a find of all', { find: 'checkpoints', filter: {} }],
    ['a range without an end', { find: 'stamps', filter: { _id: { $gt: 's1' } } }],
    ['a range of a hashed key', { find: 'audit', filter: { _id: { $gt: 'a', $lt: 'b' } } }],
    ['an exclusion', { find: 'orders', filter: { store_id: { $ne: 's1' } } }],
    ['one alternative without', { find: 'stamps', filter: { $or: [{ _id: 's1' }, { position: 1 }] } }],
    ['a condition behind another stage', { aggregate: 'orders', pipeline: [{ $limit: 1 }, ...BY_STORE] }],
    [
      'a union',
      { aggregate: 'orders', pipeline: [...BY_STORE, { $unionWith: { coll: 'coupons', pipeline: [] } }] },
    ],
    [
      'a join by id where the store is the key',
      {
        aggregate: 'orders',
        pipeline: [...BY_STORE, { $lookup: { from: 'products', foreignField: '_id' } }],
      },
    ],
    [
      'a join inside of a union',
      {
        aggregate: 'orders',
        pipeline: [
          ...BY_STORE,
          {
            $unionWith: {
              coll: 'coupons',
              pipeline: [...BY_STORE, { $lookup: { from: 'products', foreignField: '_id' } }],
            },
          },
        ],
      },
    ],
    ['a count', { count: 'erasures', query: {} }],
    ['a removal of one by id alone', { delete: 'orders', deletes: [{ q: { _id: 's1/o1' }, limit: 1 }] }],
    [
      'a change of one by id alone',
      { update: 'orders', updates: [{ q: { _id: 's1/o1' }, u: { $set: { a: 1 } } }] },
    ],
  ])('goes to every shard: %s', (_name, command) => {
    const database = command['find'] === 'audit' ? 'p_control' : 'p_e_g1';
    expect(problems(command, null, database)).toEqual(['is sent to every shard']);
  });

  it.each<[string, Document, string | null, string]>([
    [
      'one document by the store alone',
      { update: 'orders', updates: [{ q: { store_id: 's1' }, u: { $set: { a: 1 } } }] },
      null,
      'does not name the whole key',
    ],
    [
      'findAndModify in a range',
      { findAndModify: 'stamps', query: { _id: { $gte: 'a', $lt: 'b' } } },
      null,
      'does not name the whole key',
    ],
    [
      'a replacement without the key',
      {
        update: 'tombstones',
        updates: [{ q: { _id: 'order/s1/o1', store_id: 's1' }, u: { entity: 'order' } }],
      },
      null,
      'replaces the key',
    ],
    [
      'distinct in a transaction',
      { distinct: 'stamps', query: { _id: 's1' } },
      't',
      'is forbidden in a snapshot',
    ],
    [
      'a join in a transaction',
      {
        aggregate: 'stamps',
        pipeline: [{ $match: { _id: 's1' } }, { $lookup: { from: 'orders', foreignField: 'store_id' } }],
      },
      't',
      '$lookup is forbidden in a transaction',
    ],
    [
      'a union inside of a join',
      {
        aggregate: 'stamps',
        pipeline: [
          { $match: { _id: 's1' } },
          {
            $lookup: {
              from: 'orders',
              pipeline: [...BY_STORE, { $unionWith: { coll: 'coupons', pipeline: BY_STORE } }],
            },
          },
        ],
      },
      null,
      '$unionWith is forbidden inside $lookup',
    ],
    [
      'an output',
      { aggregate: 'orders', pipeline: [...BY_STORE, { $merge: 'other' }] },
      null,
      '$merge is not known to be allowed',
    ],
    [
      'a unique index not led by the key',
      { createIndexes: 'orders', indexes: [{ key: { rank_key: 1 }, unique: true }] },
      null,
      'is unique and not led by the key',
    ],
    ['a collection without a key', { find: 'surprises', filter: { _id: 's1' } }, null, 'has no shard key'],
    ['an unknown command', { mapReduce: 'orders' }, null, 'is a command that is not judged'],
  ])('is refused: %s', (_name, command, transaction, what) => {
    expect(problems(command, transaction)).toEqual([what]);
  });

  it('tells whose documents it touches', () => {
    expect(judged({ find: 'rank_nodes', filter: { _id: 'order/s1/0/' } }).owners).toEqual(['store s1']);
    expect(judged({ find: 'orders', filter: { store_id: { $in: ['s1', 's2'] } } }).owners).toEqual([
      'store s1',
      'store s2',
    ]);
    expect(judged({ find: 'checkpoints', filter: { _id: 'topic/7' } }).owners).toEqual(['partition 7']);
    expect(
      judged({ insert: 'tombstones', documents: [{ _id: 'order/s3/o', store_id: 's3' }] }).owners,
    ).toEqual(['store s3']);
  });
});
