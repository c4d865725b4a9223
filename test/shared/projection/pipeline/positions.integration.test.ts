import { beforeAll, describe, expect, it } from 'vitest';
import type { Db } from 'mongodb';
import { type FindErased, findErasedIn } from '#shared/access/erased-stores.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { runInTransaction } from '#shared/projection/slice/slice.ts';
import { repairStore } from '#shared/projection/verify/repair.ts';
import { isWriteConflict } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities.ts';
import {
  COLLECTIONS,
  type ReadModelDocument,
  type Stamp,
  STAMPS,
  type Tombstone,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import { aCategory, aCustomer, aGroup, anOrder, aProduct } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';
import type { TestChange } from '#test/query-service.ts';
import { applyEvents, sliceOf } from '#test/slices.ts';

const order = (id: string, customer?: string) =>
  anOrder(id, customer === undefined ? {} : { customer: { id: customer, name: 'Maria' } });
const product = (id: string, category: string) => aProduct(id, { category_id: category, option_group_ids: ['g1'] });
const category = (id: string, position: number) => aCategory(id, { position });
const deleted = (entity: EntityName, id: string): TestChange => ({ entity, storeId: 's1', id });

describe('positions', () => {
  const installation = useInstallation();
  let findErased: FindErased;
  let databases = 0;
  beforeAll(async () => {
    findErased = findErasedIn(installation.mongodb.db(`${installation.config.namePrefix}_control`), 'e');
  });

  const fresh = () => {
    databases += 1;
    return emptyReadModels(installation, `positions${databases}`);
  };

  const apply = (db: Db, events: readonly TestChange[], options: { epochs?: Epochs; isKnown?: boolean } = {}) =>
    applyEvents(db, events, { findErased, ...options });

  /** The positions of a store's records, deletions included. */
  async function positionsIn(db: Db): Promise<Record<string, number>> {
    const found: [string, number][] = [];
    for (const [entity, name] of Object.entries(COLLECTIONS)) {
      for await (const { _id, feed_position } of db.collection<ReadModelDocument>(name).find()) {
        found.push([`${entity}/${_id}`, feed_position]);
      }
    }
    for await (const { _id, feed_position } of db.collection<Tombstone>(TOMBSTONES).find()) {
      found.push([`deleted ${_id}`, feed_position]);
    }
    return Object.fromEntries(found);
  }
  const stampIn = (db: Db) => db.collection<Stamp>(STAMPS).findOne({ _id: 's1' });
  const epochsOf = async (db: Db) => epochsIn((await stampIn(db))?.epochs);
  /** As it was after the first order. */
  async function goBackTo(db: Db, stamp: Stamp | null): Promise<void> {
    if (stamp === null) throw new Error('no stamp');
    await db.collection<Stamp>(STAMPS).replaceOne({ _id: 's1' }, stamp);
    await db.collection<ReadModelDocument>(COLLECTIONS.order).deleteMany({ feed_position: { $gt: 1 } });
  }

  it('are those of the last events, however the events are cut into slices', async () => {
    const events = [
      order('o1'),
      order('o2'),
      category('c1', 1),
      order('o1'),
      deleted('order', 'o2'),
      order('o3'),
      product('p1', 'c1'),
      deleted('order', 'o4'),
      aGroup('g1'),
      order('o2'),
    ];
    const expected = {
      'order/s1/o1': 4,
      'order/s1/o2': 10,
      'order/s1/o3': 6,
      'category/s1/c1': 3,
      'product/s1/p1': 7,
      'option_group/s1/g1': 9,
      'deleted order/s1/o4': 8,
    };
    for (const size of [1, 3, 100]) {
      const db = await fresh();
      for (let at = 0; at < events.length; at += size) await apply(db, events.slice(at, at + size));
      expect(await positionsIn(db), `slices of ${size}`).toEqual(expected);
      expect(await stampIn(db)).toMatchObject({
        position: 10,
        positions: { order: 10, category: 3, product: 7, option_group: 9 },
        tombstones: { order: 1 },
      });
    }
  });

  it('stay where a record changes only in what its list does not show, and where a store is repaired', async () => {
    const db = await fresh();
    await apply(db, [category('c1', 1), product('p1', 'c1'), aGroup('g1')]);
    await apply(db, [aGroup('g1'), category('c1', 2)]);
    await repairStore(db, 's1', findErased);
    expect(await positionsIn(db)).toEqual({
      'category/s1/c1': 5,
      'product/s1/p1': 2,
      'option_group/s1/g1': 4,
    });
    expect((await stampIn(db))?.position).toBe(5);
  });

  it('come with a count of the tombstones, by which later slices know whether there are any', async () => {
    const db = await fresh();
    const counted = async () => (await stampIn(db))?.tombstones;
    await apply(db, [deleted('customer', 'c1')]);
    expect(await counted()).toEqual({ customer: 1 });
    await apply(db, [deleted('customer', 'c1'), deleted('customer', 'c2')]);
    expect(await counted()).toEqual({ customer: 2 });
    await apply(db, [order('o1', 'c1')]);
    const shown = await db.collection<ReadModelDocument>(COLLECTIONS.order).findOne({ _id: 's1/o1' });
    expect(shown?.summary).toContain('"customer":{"id":"c1","name":null');
    await db.collection<Stamp>(STAMPS).updateOne({ _id: 's1' }, { $unset: { tombstones: '' } });
    await repairStore(db, 's1', findErased);
    expect(await counted()).toEqual({ customer: 2 });
    for (const id of ['c1', 'c2']) await apply(db, [aCustomer(id)]);
    expect(await counted()).toEqual({ customer: 0 });
  });

  it('are given to orders that lose the data of a deleted customer, each its own', async () => {
    const db = await fresh();
    await apply(db, [order('o1', 'c1'), order('o2', 'c1'), order('o3')]);
    await apply(db, [deleted('customer', 'c1'), order('o3')]);
    const positions = await positionsIn(db);
    expect(positions).toMatchObject({ 'order/s1/o3': 5, 'deleted customer/s1/c1': 4 });
    expect(new Set([positions['order/s1/o1'], positions['order/s1/o2']])).toEqual(new Set([6, 7]));
    expect(await stampIn(db)).toMatchObject({ position: 7, positions: { order: 7, customer: 4 } });
  });

  it('are never given twice by transactions that overlap: one of them starts again', async () => {
    const db = await fresh();
    await apply(db, [order('o1')]);
    const first = installation.mongodb.startSession();
    const slice = sliceOf([order('o2')]);
    try {
      const overlapped = runInTransaction(first, async () => {
        await db.collection<Stamp>(STAMPS).findOne({ _id: 's1' }, { session: first });
        await apply(db, [order('o3')]);
        return applyChanges(db, first, slice, { findErased });
      });
      await expect(overlapped).rejects.toSatisfy(isWriteConflict);
    } finally {
      await first.endSession();
    }
    expect(await positionsIn(db)).toEqual({ 'order/s1/o1': 1, 'order/s1/o3': 2 });
  });

  describe('are given under an epoch', () => {
    it('that goes on as long as the same process gives them', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      await apply(db, [order('o1'), order('o2')], { epochs });
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }]);
      expect((await stampIn(db))?.position).toBe(4);
    });

    it('that ends where another process gives one', async () => {
      const db = await fresh();
      const ours = new Epochs();
      await apply(db, [order('o1')], { epochs: ours });
      await apply(db, [order('o2')]);
      await apply(db, [order('o3')], { epochs: ours });
      const epochs = await epochsOf(db);
      expect(epochs).toMatchObject([{ from: 1 }, { from: 2 }, { from: 3 }]);
      expect(new Set(epochs.map(({ id }) => id)).size).toBe(3);
    });

    it('that ends where nobody knows whether a commit succeeded', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      await apply(db, [order('o2')], { epochs, isKnown: false });
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }, { from: 3 }]);
    });

    it('that ends where a commit of unknown outcome succeeded and was then lost with the database', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      const backup = await stampIn(db);
      await apply(db, [order('o2')], { epochs, isKnown: false });
      await goBackTo(db, backup);
      await apply(db, [order('o3')], { epochs });
      expect(await epochsOf(db)).toMatchObject([{ from: 1 }, { from: 2 }]);
    });

    it('that ends where the database is an older one, also if the same process goes on', async () => {
      const db = await fresh();
      const epochs = new Epochs();
      await apply(db, [order('o1')], { epochs });
      const backup = await stampIn(db);
      await apply(db, [order('o2'), order('o3')], { epochs });
      await goBackTo(db, backup);
      await apply(db, [order('o2'), order('o3')], { epochs });
      const [first, second, ...others] = await epochsOf(db);
      expect([first, second, others]).toMatchObject([{ from: 1 }, { from: 2 }, []]);
      expect(first?.id).not.toBe(second?.id);
    });
  });
});
