/** What tells whether a command suits a sharded cluster finds what does not. */
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { judge } from '#test/shard-targeting.ts';

const judged = (command: Document, transaction: string | null = null, database = 'p_e_g1') =>
  judge({ app: 'app', database, command, transaction });
const problems = (...of: Parameters<typeof judged>) => judged(...of).problems.map(({ what }) => what);

const find = (collection: string, filter: Document): Document => ({ find: collection, filter });
const aggregate = (collection: string, ...pipeline: Document[]): Document => ({
  aggregate: collection,
  pipeline,
});
const update = (collection: string, q: Document, u: Document): Document => ({
  update: collection,
  updates: [{ q, u }],
});
const remove = (q: Document, limit: number): Document => ({ delete: 'orders', deletes: [{ q, limit }] });

const OF_STORE = { $match: { store_id: 's1' } };
const STAMP = { $match: { _id: 's1' } };
const union = (...pipeline: Document[]) => ({ $unionWith: { coll: 'coupons', pipeline } });
const join = (how: Document) => ({ $lookup: { from: 'orders', ...how } });
const BY_ID = { $lookup: { from: 'products', foreignField: '_id' } };
const ALTERNATIVES = { $or: [{ _id: 'a/b' }, { _id: { $gt: 'a/', $lt: 'a0' } }] };
const SET = { $set: { a: 1 } };

describe('a command', () => {
  it.each<[string, Document]>([
    ['a find by store', find('orders', { store_id: 's1', rank_key: { $gt: 'a' } })],
    ['a find by several stores', find('orders', { store_id: { $in: ['s1', 's2'] }, _id: 'x' })],
    ['a find by id', find('stamps', { _id: { $eq: 's1' } })],
    ['a find in a range of ids', find('category_products', { _id: { $gte: 's1/', $lt: 's10' } })],
    ['a find by alternatives', find('category_products', ALTERNATIVES)],
    ['a removal by store', remove({ store_id: 's1' }, 0)],
    ['a join by store', aggregate('stamps', STAMP, join({ foreignField: 'store_id' }))],
    ['a join by a condition of its own', aggregate('stamps', STAMP, join({ pipeline: [OF_STORE] }))],
    ['an insertion', { insert: 'orders', documents: [{ _id: 's1/o1', store_id: 's1' }] }],
  ])('suits: %s', (_name, command) => {
    expect(problems(command)).toEqual([]);
  });

  it.each<[string, Document]>([
    ['a find by id alone', find('orders', { _id: 's1/o1' })],
    ['a find by another field', find('dead_letters', { customers: 's1/c1' })],
    ['a find of all', find('checkpoints', {})],
    ['a range without an end', find('stamps', { _id: { $gt: 's1' } })],
    ['a range of a hashed key', find('audit', { _id: { $gt: 'a', $lt: 'b' } })],
    ['an exclusion', find('orders', { store_id: { $ne: 's1' } })],
    ['one alternative without', find('stamps', { $or: [{ _id: 's1' }, { position: 1 }] })],
    ['a condition behind another stage', aggregate('orders', { $limit: 1 }, OF_STORE)],
    ['a union', aggregate('orders', OF_STORE, union())],
    ['a join by id where the store is the key', aggregate('orders', OF_STORE, BY_ID)],
    ['a join inside of a union', aggregate('orders', OF_STORE, union(OF_STORE, BY_ID))],
    ['a count', { count: 'erasures', query: {} }],
    ['a removal of one by id alone', remove({ _id: 's1/o1' }, 1)],
    ['a change of one by id alone', update('orders', { _id: 's1/o1' }, SET)],
  ])('goes to every shard: %s', (_name, command) => {
    const database = command['find'] === 'audit' ? 'p_control' : 'p_e_g1';
    expect(problems(command, null, database)).toEqual(['is sent to every shard']);
  });

  const WHOLE_KEY = 'does not name the whole key';
  const UNIQUE = { createIndexes: 'orders', indexes: [{ key: { rank_key: 1 }, unique: true }] };
  const MOVED = update('tombstones', { _id: 'order/s1/o1', store_id: 's1' }, { entity: 'order' });
  const DISTINCT = { distinct: 'stamps', query: { _id: 's1' } };
  it.each<[string, Document, string | null, string]>([
    ['one document by the store alone', update('orders', { store_id: 's1' }, SET), null, WHOLE_KEY],
    ['findAndModify in a range', { findAndModify: 'stamps', query: { _id: { $gte: 'a', $lt: 'b' } } }, null, WHOLE_KEY],
    ['a replacement without the key', MOVED, null, 'replaces the key'],
    ['distinct in a transaction', DISTINCT, 't', 'is forbidden in a snapshot'],
    [
      'a join in a transaction',
      aggregate('stamps', STAMP, join({ foreignField: 'store_id' })),
      't',
      '$lookup is forbidden in a transaction',
    ],
    [
      'a union inside of a join',
      aggregate('stamps', STAMP, join({ pipeline: [OF_STORE, union(OF_STORE)] })),
      null,
      '$unionWith is forbidden inside $lookup',
    ],
    ['an output', aggregate('orders', OF_STORE, { $merge: 'other' }), null, '$merge is not known to be allowed'],
    ['a unique index not led by the key', UNIQUE, null, 'is unique and not led by the key'],
    ['a collection without a key', find('surprises', { _id: 's1' }), null, 'has no shard key'],
    ['an unknown command', { mapReduce: 'orders' }, null, 'is a command that is not judged'],
  ])('is refused: %s', (_name, command, transaction, what) => {
    expect(problems(command, transaction)).toEqual([what]);
  });

  it.each<[Document, string[]]>([
    [find('rank_nodes', { _id: 'order/s1/0/' }), ['store s1']],
    [find('orders', { store_id: { $in: ['s1', 's2'] } }), ['store s1', 'store s2']],
    [find('checkpoints', { _id: 'topic/7' }), ['partition 7']],
    [{ insert: 'tombstones', documents: [{ _id: 'order/s3/o', store_id: 's3' }] }, ['store s3']],
  ])('%j touches the documents of %j', (command, owners) => {
    expect(judged(command).owners).toEqual(owners);
  });
});
