/**
 * The stores that have erasures under way. A store enters in the transaction in which its stamp begins to say so and leaves in the
 * one in which it ceases to; nothing else costs a write, and no index beside `_id` is needed. Entries of another kind are those of
 * earlier releases.
 */
import type { ClientSession, Collection, Db } from 'mongodb';
import { ERASURES, idsOfStore, REWRITINGS, type Stamp } from '../../read-models/collections.ts';
import type { Erasure } from '../../read-models/erasures.ts';

export interface QueuedStore {
  /** `<store id>/erasures` */
  _id: string;
  store_id: string;
  kind: 'erasures';
  /** The owner of this partition erases, between its slices. */
  partition: number;
  entered_at: Date;
}

function queueIn(db: Db): Collection<QueuedStore> {
  return db.collection<QueuedStore>(REWRITINGS);
}

function queueId(storeId: string): string {
  return `${storeId}/erasures`;
}

/** Enters stores, in the transaction in which their stamps begin to say that they have erasures. */
export async function enqueueStores(
  db: Db,
  session: ClientSession,
  storeIds: readonly string[],
  partition: number,
): Promise<void> {
  if (storeIds.length === 0) return;
  const entered_at = new Date();
  const operations = storeIds.map((store_id) => ({
    replaceOne: {
      filter: { _id: queueId(store_id) },
      replacement: { store_id, kind: 'erasures' as const, partition, entered_at },
      upsert: true,
    },
  }));
  await queueIn(db).bulkWrite(operations, { session, ordered: false });
}

/** Takes a store out whose erasures are all done, in the transaction of the last one. */
export async function dequeueStore(db: Db, session: ClientSession, storeId: string): Promise<void> {
  await queueIn(db).deleteOne({ _id: queueId(storeId) }, { session });
}

/** The stores in the queue, those first that have waited longest. */
export async function findQueued(db: Db): Promise<QueuedStore[]> {
  return queueIn(db)
    .find({ kind: 'erasures' }, { sort: { entered_at: 1 }, maxTimeMS: 5_000 })
    .toArray();
}

/** How many erasures are under way, and since when the oldest. */
export async function countErasures(db: Db): Promise<{ open: number; oldest: Date | null }> {
  const [found] = await db
    .collection<Erasure>(ERASURES)
    .aggregate<{ open: number; oldest: Date }>(
      [{ $group: { _id: null, open: { $sum: 1 }, oldest: { $min: '$began_at' } } }],
      { maxTimeMS: 5_000 },
    )
    .toArray();
  return found ?? { open: 0, oldest: null };
}

/** Compares a store's erasures with its stamp and its place in the queue, read in the session's snapshot. */
export async function verifyErasures(
  db: Db,
  session: ClientSession,
  storeId: string,
  stamp: Stamp | null,
  compare: (what: string, stored: string, counted: string) => void,
): Promise<void> {
  const some = (has: boolean) => (has ? 'some' : 'none');
  const expected = some((await findFirst(db, session, storeId)) !== null);
  compare('erasures under way, by the stamp', some(stamp?.erasing === true), expected);
  compare('erasures under way, by the queue', some(await isQueued(db, session, storeId)), expected);
}

/** Repairs the queue, in the session's transaction. @returns whether the stamp has to say that there are erasures. */
export async function repairErasures(db: Db, session: ClientSession, storeId: string): Promise<boolean> {
  const first = await findFirst(db, session, storeId);
  if (first === null) await dequeueStore(db, session, storeId);
  else if (!(await isQueued(db, session, storeId)))
    await enqueueStores(db, session, [storeId], first.partition);
  return first !== null;
}

async function findFirst(db: Db, session: ClientSession, storeId: string): Promise<Erasure | null> {
  return db.collection<Erasure>(ERASURES).findOne({ _id: idsOfStore(storeId) }, { session });
}

async function isQueued(db: Db, session: ClientSession, storeId: string): Promise<boolean> {
  return (await queueIn(db).findOne({ _id: queueId(storeId) }, { session })) !== null;
}
