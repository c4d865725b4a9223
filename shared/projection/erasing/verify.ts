/** Whether what must agree about a store's erasures does: the erasures themselves, its stamp and the queue of what is rewritten. */
import type { ClientSession, Db } from 'mongodb';
import { ERASURES, idsOfStore, REWRITINGS, type Stamp } from '../../read-models/collections.ts';
import type { Erasure } from '../../read-models/erasures.ts';
import { enqueue, leaveErasures, type Rewriting, rewritingId } from '../rewriting/queue.ts';

/** Compares them, read in the session's snapshot. */
export async function verifyErasures(
  db: Db,
  session: ClientSession,
  storeId: string,
  stamp: Stamp | null,
  compare: (what: string, stored: string, counted: string) => void,
): Promise<void> {
  const expected = (await firstErasure(db, session, storeId)) === null ? 'none' : 'some';
  const inStamp = stamp?.erasing === true ? 'some' : 'none';
  compare('erasures under way, by the stamp', inStamp, expected);
  compare('erasures under way, by the queue', await inQueue(db, session, storeId), expected);
}

/** Makes the queue right, in the session's transaction. @returns what the stamp has to say. */
export async function repairErasures(db: Db, session: ClientSession, storeId: string): Promise<boolean> {
  const first = await firstErasure(db, session, storeId);
  if (first === null) await leaveErasures(db, session, storeId);
  else if ((await inQueue(db, session, storeId)) === 'none') {
    const { partition } = first;
    await enqueue(db, session, [{ store_id: storeId, kind: 'erasures', partition }]);
  }
  return first !== null;
}

async function firstErasure(db: Db, session: ClientSession, storeId: string): Promise<Erasure | null> {
  return db.collection<Erasure>(ERASURES).findOne({ _id: idsOfStore(storeId) }, { session });
}

async function inQueue(db: Db, session: ClientSession, storeId: string): Promise<'some' | 'none'> {
  const entry = await db
    .collection<Rewriting>(REWRITINGS)
    .findOne({ _id: rewritingId(storeId, 'erasures') }, { session });
  return entry === null ? 'none' : 'some';
}
