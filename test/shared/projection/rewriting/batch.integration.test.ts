import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClientSession, Db } from 'mongodb';
import { rewriteBatch } from '#shared/projection/rewriting/batch.ts';
import { COLLECTIONS, type OrderDocument, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { emptyReadModels, unlessUnavailable } from '#test/read-models.ts';

const EVERYTHING = { collection: COLLECTIONS.order, storeId: 's1', after: '', documents: 100 };

let installation: Installation;
let db: Db;
beforeAll(async () => {
  installation = await createInstallation();
  db = await emptyReadModels(installation);
  await db.collection<Stamp>(STAMPS).insertOne({ _id: 's1', store_id: 's1', timezone_offset: '-04:00' });
});
afterAll(() => installation?.close());

const orders = () => db.collection<OrderDocument>(COLLECTIONS.order);
const body = (name: string | null, at: string) => JSON.stringify({ customer: { name }, created_at: at });
const made = body('Maria', '2026-03-01T12:00:00');
const shifted = body('Maria', '2026-03-01T11:00:00');

/** Stores an order whose bodies are for `-03:00`, and waits until snapshots hold it. */
async function store(id: string): Promise<void> {
  await orders().insertOne({
    _id: `s1/${id}`,
    store_id: 's1',
    sequence: 1,
    offset: '-03:00',
    rank_key: id,
    facet: 'f',
    customer_id: 'c1',
    updated_at: new Date(0),
    summary: made,
    whole: made,
    feed_position: 1,
  });
  await eventually('snapshots hold it', async () => {
    const found = await orders()
      .find({ _id: `s1/${id}` }, { readConcern: 'snapshot' })
      .toArray()
      .catch(unlessUnavailable);
    return found.length === 1;
  });
}

/** Rewrites while a transaction has changed something and is not committed yet. */
async function beside(change: (session: ClientSession) => Promise<unknown>) {
  const session = installation.mongodb.startSession();
  try {
    session.startTransaction({ writeConcern: { w: 'majority' } });
    await change(session);
    const rewriting = rewriteBatch(db, { ...EVERYTHING, offset: '-04:00' });
    await eventually('the rewriting waits for the transaction', async () => {
      const operations = await installation.mongodb
        .db('admin')
        .aggregate([{ $currentOp: {} }, { $match: { ns: orders().namespace, active: true } }])
        .toArray();
      return operations.some(({ writeConflicts }) => Number(writeConflicts ?? 0) > 0);
    });
    await session.commitTransaction();
    return await rewriting;
  } finally {
    await session.endSession();
  }
}

it('takes nothing back of what a transaction erases at the same moment', async () => {
  await store('o1');
  await store('o2');
  const erased = body(null, '2026-03-01T12:00:00');
  const result = await beside((session) =>
    orders().updateOne({ _id: 's1/o1' }, { $set: { summary: erased, whole: erased } }, { session }),
  );
  expect(result).toEqual({ looked: 2, rewritten: 1, last: null, missed: 1 });
  expect(await orders().findOne({ _id: 's1/o1' })).toMatchObject({ offset: '-03:00', summary: erased });
  expect(await orders().findOne({ _id: 's1/o2' })).toMatchObject({ offset: '-04:00', summary: shifted });
});

it('brings nothing back that a transaction deletes, and overwrites nothing newer', async () => {
  await store('o3');
  await store('o4');
  const newer = { sequence: 2, offset: '-04:00', summary: 'newer', whole: 'newer' };
  const result = await beside(async (session) => {
    await orders().deleteOne({ _id: 's1/o3' }, { session });
    await orders().updateOne({ _id: 's1/o4' }, { $set: newer }, { session });
  });
  expect(result).toMatchObject({ missed: 2 });
  expect(await orders().findOne({ _id: 's1/o3' })).toBeNull();
  expect(await orders().findOne({ _id: 's1/o4' })).toMatchObject(newer);
});

it('does nothing once the store has another offset than it works for', async () => {
  await store('o5');
  expect(await rewriteBatch(db, { ...EVERYTHING, offset: '+01:00' })).toBeNull();
  expect(await orders().findOne({ _id: 's1/o5' })).toMatchObject({ offset: '-03:00', summary: made });
});

it('goes on after a document, and ends where the store ends', async () => {
  await db.collection(COLLECTIONS.order).deleteMany({ store_id: 's1' });
  for (const id of ['a', 'b', 'c']) await store(id);
  const batch = { ...EVERYTHING, documents: 2, offset: '-04:00' };
  const first = await rewriteBatch(db, batch);
  expect(first).toEqual({ looked: 2, rewritten: 2, last: 's1/b', missed: 0 });
  expect(await rewriteBatch(db, { ...batch, after: 's1/b' })).toEqual({
    looked: 1,
    rewritten: 1,
    last: null,
    missed: 0,
  });
  expect(await rewriteBatch(db, batch)).toEqual({ looked: 2, rewritten: 0, last: 's1/b', missed: 0 });
});
