import { Collection, type Db } from 'mongodb';
import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { adoptStoreRecords, markStoreRecords } from '#shared/projection/access/apply.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import {
  COLLECTIONS,
  STORE_RECORDS_PENDING,
  type StoreDocument,
  TOMBSTONES,
  stampsIn,
} from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';

const installation = useInstallation();
let db: Db;
beforeAll(async () => {
  db = await emptyReadModels(installation);
});

const stores = () => controlCollections(installation.databases.control).stores;
const adopt = () => adoptStoreRecords(installation.environment, db, stores());
const statusOf = async (storeId: string) =>
  (await stores().findOne({ store_id: storeId }))?.record_status;
const pending = () =>
  db
    .collection(STORE_RECORDS_PENDING)
    .find({}, { sort: { _id: 1 } })
    .toArray();

/** Writes a store's record like a slice. */
async function change(storeId: string, sequence: number, status: StoreDocument['status'] | null) {
  await installation.mongodb.withSession((session) =>
    session.withTransaction(async () => {
      const _id = `${storeId}/${storeId}`;
      if (status === null) {
        await db.collection(COLLECTIONS.store).deleteOne({ _id: _id as never }, { session });
        const grave = { _id: `store/${_id}` as never, store_id: storeId, sequence };
        await db.collection(TOMBSTONES).insertOne(grave, { session });
      } else {
        await db
          .collection(COLLECTIONS.store)
          .replaceOne(
            { _id: _id as never },
            { store_id: storeId, sequence, status },
            { session, upsert: true },
          );
      }
      await markStoreRecords(db, session, new Map([[storeId, sequence]]));
    }),
  );
}

beforeEach(async () => {
  await adopt();
  expect(await pending()).toEqual([]);
});

it('adopting store records misses no change that arrives while it applies marks', async () => {
  const over = new AbortController();
  const sweeping = (async () => {
    while (!over.signal.aborted) await adopt();
  })();
  for (let sequence = 1; sequence <= 40; sequence += 1) {
    await change('s3', sequence, sequence % 4 === 0 ? 'blocked' : 'active');
  }
  over.abort();
  await sweeping;
  await adopt();
  expect(await stores().findOne({ store_id: 's3' })).toMatchObject({
    record_status: 'blocked',
    record_sequence: 40,
  });
  expect(await pending()).toEqual([]);
});

it('many store records are adopted together, those that were marked last first', async () => {
  const ids = Array.from({ length: 1_200 }, (_, index) => `m${index}`);
  const records = ids.map((id) => ({
    _id: `${id}/${id}`,
    store_id: id,
    sequence: 1,
    status: 'blocked',
  }));
  await db.collection(COLLECTIONS.store).insertMany(records as never[]);
  for (let start = 0; start < ids.length; start += 100) {
    const marked = ids.slice(start, start + 100).map((id) => [id, 1] as const);
    await installation.mongodb.withSession((session) =>
      markStoreRecords(db, session, new Map(marked)),
    );
  }
  const adopted: Promise<string[]>[] = [];
  await adoptStoreRecords(installation.environment, db, stores(), () => {
    adopted.push(stores().distinct('store_id', { store_id: /^m/, record_status: 'blocked' }));
  });
  const [first = [], ...others] = await Promise.all(adopted);
  expect(others).toHaveLength(2);
  expect(first).toContain('m1199');
  expect(
    await stores().countDocuments({ store_id: /^m/, record_status: 'blocked', record_sequence: 1 }),
  ).toBe(1_200);
  expect(await pending()).toEqual([]);
});

it('a store’s own record blocks it once, even if the projector ends before it removes the mark', async () => {
  await change('s9', 1, 'blocked');
  const killed = vi
    .spyOn(Collection.prototype, 'deleteMany')
    .mockRejectedValueOnce(new Error('the process ended'));
  await expect(adopt()).rejects.toThrow('the process ended');
  killed.mockRestore();
  const adopted = await stores().findOne({ store_id: 's9' });
  expect(adopted).toMatchObject({ record_status: 'blocked', record_sequence: 1 });
  expect(await pending()).toHaveLength(1);
  await adopt();
  expect(await pending()).toEqual([]);
  expect(await stores().findOne({ store_id: 's9' })).toMatchObject({ version: adopted?.version });
});

it('adopting store records keeps what another process wrote meanwhile', async () => {
  await Promise.all(['p1', 'p2', 'p3'].map((id) => change(id, 2, 'blocked')));
  await Promise.all(Array.from({ length: 8 }, adopt));
  await change('p2', 3, null);
  await change('p3', 1, 'active');
  await Promise.all(Array.from({ length: 8 }, adopt));
  expect(await Promise.all(['p1', 'p2', 'p3'].map(statusOf))).toEqual([
    'blocked',
    'active',
    'blocked',
  ]);
  expect(await pending()).toEqual([]);
});

it('adopting store records does not conflict with a slice in progress', async () => {
  await change('s4', 1, 'blocked');
  const session = installation.mongodb.startSession();
  try {
    session.startTransaction({
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority' },
    });
    const stamps = stampsIn(db);
    // It begins to read before the mark is removed, and writes afterwards.
    await stamps.findOne({ _id: 's4' }, { session });
    await adopt();
    expect(await pending()).toEqual([]);
    const stamp = { $inc: { store: 1 }, $setOnInsert: { store_id: 's4' } };
    await stamps.updateOne({ _id: 's4' }, stamp, { session, upsert: true });
    await markStoreRecords(db, session, new Map([['s4', 2]]));
    await session.commitTransaction();
  } finally {
    await session.endSession();
  }
  expect(await statusOf('s4')).toBe('blocked');
  expect(await pending()).toEqual([{ _id: 's4/2', store_id: 's4' }]);
});
