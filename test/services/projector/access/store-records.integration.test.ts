import { type ClientSession, Collection, type Db } from 'mongodb';
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
import { emptyReadModels, idsIn } from '#test/read-models.ts';
import { times } from '#test/times.ts';

const installation = useInstallation();
let db: Db;
beforeAll(async () => {
  db = await emptyReadModels(installation);
});

const stores = () => controlCollections(installation.databases.control).stores;
const adopt = (adopted?: () => void) =>
  adoptStoreRecords(installation.environment, db, stores(), adopted);
const adoptTogether = () => Promise.all(times(8, () => adopt()));
const adopted = async (storeId: string) => {
  const found = await stores().findOne({ store_id: storeId });
  return [found?.record_status, found?.record_sequence];
};
const pending = () => idsIn(db, STORE_RECORDS_PENDING);

const records = () => db.collection<Partial<StoreDocument> & { _id: string }>(COLLECTIONS.store);
const inTransaction = (work: (session: ClientSession) => Promise<void>) =>
  installation.mongodb.withSession((session) => session.withTransaction(() => work(session)));

/** Writes a store's record like a slice. */
const change = (store_id: string, sequence: number, status: StoreDocument['status'] | null) =>
  inTransaction(async (session) => {
    const _id = `${store_id}/${store_id}`;
    if (status === null) {
      await records().deleteOne({ _id }, { session });
      const grave = { _id: `store/${_id}`, store_id, sequence };
      await db.collection<typeof grave>(TOMBSTONES).insertOne(grave, { session });
    } else {
      const record = { store_id, sequence, status };
      await records().replaceOne({ _id }, record, { session, upsert: true });
    }
    await markStoreRecords(db, session, new Map([[store_id, sequence]]));
  });

beforeEach(async () => {
  await adopt();
  expect(await pending()).toEqual([]);
});

it('adopting store records misses no change that arrives while it applies marks', async () => {
  const over = new AbortController();
  const sweeping = (async () => {
    while (!over.signal.aborted) await adopt();
  })();
  for (let sequence = 1; sequence <= 40; sequence += 1)
    await change('s3', sequence, sequence % 4 === 0 ? 'blocked' : 'active');
  over.abort();
  await sweeping;
  await adopt();
  expect(await adopted('s3')).toEqual(['blocked', 40]);
  expect(await pending()).toEqual([]);
});

it('many store records are adopted together, those that were marked last first', async () => {
  const ids = times(501, (index) => `m${index}`);
  const blocked = { sequence: 1, status: 'blocked' } as const;
  await records().insertMany(ids.map((id) => ({ _id: `${id}/${id}`, store_id: id, ...blocked })));
  for (const marked of [ids.slice(0, 500), ids.slice(500)])
    await inTransaction((session) =>
      markStoreRecords(db, session, new Map(marked.map((id) => [id, 1]))),
    );
  const last: Promise<unknown>[] = [];
  await adopt(() => last.push(adopted('m500')));
  expect(await Promise.all(last)).toEqual([
    ['blocked', 1],
    ['blocked', 1],
  ]);
  expect(await stores().countDocuments({ store_id: /^m/, record_status: 'blocked' })).toBe(501);
  expect(await pending()).toEqual([]);
});

it('a store’s own record blocks it once, even if the projector ends before it removes the mark', async () => {
  await change('s9', 1, 'blocked');
  const killed = vi
    .spyOn(Collection.prototype, 'deleteMany')
    .mockRejectedValueOnce(new Error('the process ended'));
  await expect(adopt()).rejects.toThrow('the process ended');
  killed.mockRestore();
  expect(await adopted('s9')).toEqual(['blocked', 1]);
  const before = await stores().findOne({ store_id: 's9' });
  expect(await pending()).toEqual(['s9/1']);
  await adopt();
  expect(await pending()).toEqual([]);
  expect(await stores().findOne({ store_id: 's9' })).toEqual(before);
});

it('adopting store records keeps what another process wrote meanwhile', async () => {
  for (const id of ['p1', 'p2', 'p3']) await change(id, 2, 'blocked');
  await adoptTogether();
  await change('p2', 3, null);
  await change('p3', 1, 'active');
  await adoptTogether();
  expect(await Promise.all(['p1', 'p2', 'p3'].map(adopted))).toEqual([
    ['blocked', 2],
    ['active', 3],
    ['blocked', 2],
  ]);
  expect(await pending()).toEqual([]);
});

it('adopting store records does not conflict with a slice in progress', async () => {
  await change('s4', 1, 'blocked');
  let attempts = 0;
  await inTransaction(async (session) => {
    attempts += 1;
    const stamps = stampsIn(db);
    // It begins to read before the mark is removed, and writes afterwards.
    await stamps.findOne({ _id: 's4' }, { session });
    await adopt();
    expect(await pending()).toEqual([]);
    const stamp = { $inc: { store: 1 }, $setOnInsert: { store_id: 's4' } };
    await stamps.updateOne({ _id: 's4' }, stamp, { session, upsert: true });
    await markStoreRecords(db, session, new Map([['s4', 2]]));
  });
  expect(attempts).toBe(1);
  expect(await adopted('s4')).toEqual(['blocked', 1]);
  expect(await pending()).toEqual(['s4/2']);
});
