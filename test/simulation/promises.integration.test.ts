/** The store in memory has the transaction guarantees of MongoDB: the same cases for both. */
import { type ClientSession, type Db, MongoClient, type TransactionOptions } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { isUnavailable, isWriteConflict } from '#shared/errors.ts';
import { runInTransaction } from '#shared/projection/slice/checkpoint.ts';
import { Random } from '../../deploy/testing/random.ts';
import { type Host, Scheduler } from './scheduler.ts';
import { Server } from './store.ts';

interface Store {
  db: Db;
  session: () => ClientSession;
  close: () => Promise<void>;
}

async function realStore(): Promise<Store> {
  const client = await MongoClient.connect(process.env['MONGODB_URI'] ?? '');
  const db = client.db(`promises_${randomUUID().slice(0, 8)}`);
  // Created first: a transaction that creates a collection conflicts with others.
  await db.createCollection('things');
  return {
    db,
    session: () => client.startSession(),
    close: async () => {
      await db.dropDatabase();
      await client.close();
    },
  };
}

function storeInMemory(): Store {
  const random = new Random(1);
  const scheduler = new Scheduler(random);
  const host: Host = { name: 'test', state: 'running' };
  const client = new Server(scheduler, random).client(host);
  return {
    db: client.db('promises') as unknown as Db,
    session: () => client.startSession() as unknown as ClientSession,
    close: scheduler.runAlong(),
  };
}

const SNAPSHOT: TransactionOptions = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority' },
};

interface Thing {
  _id: string;
  n: number;
}

describe.each([
  ['MongoDB', realStore],
  ['the store in memory', async () => storeInMemory()],
])('%s', (_name, open) => {
  const opened = open();
  const sessions: ClientSession[] = [];
  afterEach(() => Promise.all(sessions.splice(0).map((session) => session.endSession())));
  afterAll(async () => (await opened).close());

  /** Operations on a new document. */
  async function thing(n: number) {
    const { db, session } = await opened;
    const things = db.collection<Thing>('things');
    const _id = randomUUID();
    await things.bulkWrite([
      { updateOne: { filter: { _id }, update: { $set: { n } }, upsert: true } },
    ]);
    const read = async (options: { session?: ClientSession } = {}) =>
      (await things.findOne({ _id }, options))?.n;
    const add = (by: number, options: { session?: ClientSession } = {}) =>
      things.updateOne({ _id }, { $inc: { n: by } }, options);
    /** A new session in a transaction. */
    const begin = () => {
      const own = session();
      own.startTransaction(SNAPSHOT);
      sessions.push(own);
      return own;
    };
    return { db, things, _id, session, begin, read, add };
  }

  const failureOf = (failing: Promise<unknown>): Promise<unknown> =>
    failing.then(
      () => null,
      (error: unknown) => error,
    );

  it('shows uncommitted writes only to their transaction', async () => {
    const { begin, read, add } = await thing(1);
    const own = begin();
    await add(1, { session: own });
    expect([await read({ session: own }), await read()]).toEqual([2, 1]);
    await own.commitTransaction();
    expect(await read()).toBe(2);
  });

  it('shows a transaction the snapshot of its first read, despite later commits', async () => {
    const { begin, read, add } = await thing(1);
    const own = begin();
    expect(await read({ session: own })).toBe(1);
    await add(1);
    expect([await read({ session: own }), await read()]).toEqual([1, 2]);
    await own.abortTransaction();
  });

  it('aborts the second of two transactions that write a document, and commits the first', async () => {
    const { begin, read, add } = await thing(1);
    const [one, other] = [begin(), begin()];
    await add(1, { session: one });
    const failure = await failureOf(add(10, { session: other }));
    expect([isWriteConflict(failure), isUnavailable(failure)]).toEqual([true, true]);
    await one.commitTransaction();
    expect(await read()).toBe(2);
  });

  it('aborts a transaction that writes a document changed since its snapshot', async () => {
    const { begin, read, add } = await thing(1);
    const own = begin();
    await read({ session: own });
    await add(1);
    expect(isWriteConflict(await failureOf(add(10, { session: own })))).toBe(true);
    expect(await read()).toBe(2);
  });

  it('discards the transaction of a killed session, and unblocks others immediately', async () => {
    const { db, begin, read, add } = await thing(1);
    const own = begin();
    await add(10, { session: own });
    await db.client.db('admin').command({ killSessions: [own.id] });
    await add(1);
    expect(await read()).toBe(2);
    const failure = await failureOf(own.commitTransaction());
    expect([failure instanceof Error, isUnavailable(failure)]).toEqual([true, true]);
    expect(await read()).toBe(2);
  });

  it('aborts a transaction whose commit was lost when its session begins another', async () => {
    const { session, begin, read, add } = await thing(1);
    const own = begin();
    await add(10, { session: own });
    // Nothing of the commit reaches the server: the session stands as a new one.
    Object.assign(own, { transaction: Reflect.get(session(), 'transaction') as object | null });
    own.startTransaction(SNAPSHOT);
    await add(1, { session: own });
    await own.commitTransaction();
    expect(await read()).toBe(2);
  });

  it('discards an aborted transaction', async () => {
    const { session, read, add } = await thing(1);
    const own = session();
    sessions.push(own);
    const stopped = runInTransaction(own, async () => {
      await add(10, { session: own });
      throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(await read()).toBe(1);
  });

  it('refuses a duplicate id, with a different error than a conflict', async () => {
    const { things, _id } = await thing(1);
    const failure = await failureOf(things.insertMany([{ _id, n: 2 }]));
    expect([failure instanceof Error, isUnavailable(failure)]).toEqual([true, false]);
  });

  it('makes a write outside of transactions wait for the transaction that holds the document', async () => {
    const { begin, read, add } = await thing(1);
    const own = begin();
    await add(10, { session: own });
    const later = add(1);
    await own.commitTransaction();
    await later;
    expect(await read()).toBe(12);
  });

  it('ends a write that waits longer than its time limit', async () => {
    const { things, _id, begin, read, add } = await thing(1);
    const own = begin();
    await add(10, { session: own });
    const late = things.findOneAndUpdate({ _id }, { $inc: { n: 1 } }, { maxTimeMS: 50 });
    expect(isUnavailable(await failureOf(late))).toBe(true);
    await own.commitTransaction();
    expect(await read()).toBe(11);
  });
});
