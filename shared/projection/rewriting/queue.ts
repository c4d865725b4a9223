/**
 * The stores whose bodies are to be rewritten, and how far that is: those whose offset has moved, and those with customers that are
 * being erased. A store enters in the transaction that gives it the work, so none is forgotten; nothing else costs a write, and no
 * index beside `_id` is needed.
 */
import type { ClientSession, Collection, Db, Document, Filter } from 'mongodb';
import { REWRITINGS } from '../../read-models/collections.ts';
import type { Progress } from './progress.ts';

/** Bodies are made for another offset, or without customers who are being erased. */
export type RewritingKind = 'offset' | 'erasures';

export interface Rewriting {
  /** `<store id>/<kind>` */
  _id: string;
  store_id: string;
  kind: RewritingKind;
  /** Counts how often the store was entered: work that began for an earlier entry finds a higher number and ends. */
  entry: number;
  entered_at: Date;
  /** Of erasures: the owner of this partition does them, between its slices. */
  partition?: number;
  /** Of an offset; absent at the beginning. */
  done?: Progress;
  /** Who works on it, and until when others leave it to them, by the server's clock. */
  owner?: string;
  held_until?: Date;
}

/** A store that this process works on. */
export type Leased = Rewriting & { owner: string };

/** For how long a store is left to a process that says nothing. */
const LEASE_MS = 6_000;

const OPTIONS = { maxTimeMS: 5_000 };

function queue(db: Db): Collection<Rewriting> {
  return db.collection<Rewriting>(REWRITINGS);
}

/** `_id` of a store's work. */
export function rewritingId(storeId: string, kind: RewritingKind): string {
  return `${storeId}/${kind}`;
}

/**
 * Enters stores, or lets them begin anew. Call it in the transaction that moves their offsets, or in which their stamps begin to say that
 * they have erasures; of these they leave in the one in which the stamp ceases to.
 */
export async function enqueue(
  db: Db,
  session: ClientSession,
  works: readonly Pick<Rewriting, 'store_id' | 'kind' | 'partition'>[],
): Promise<void> {
  if (works.length === 0) return;
  const entered_at = new Date();
  const operations = works.map((work) => ({
    updateOne: {
      filter: { _id: rewritingId(work.store_id, work.kind) },
      update: {
        $set: { ...work, entered_at },
        $inc: { entry: 1 },
        $unset: { done: '' as const, owner: '' as const, held_until: '' as const },
      },
      upsert: true,
    },
  }));
  await queue(db).bulkWrite(operations, { session, ordered: false });
}

/** Takes a store out whose erasures are all done, in the transaction of the last one. */
export async function leaveErasures(db: Db, session: ClientSession, storeId: string): Promise<void> {
  await queue(db).deleteOne({ _id: rewritingId(storeId, 'erasures') }, { session });
}

/**
 * Takes the store that has waited longest for its turn; `null` where all are held by others or none is left.
 * @param partitions those that are ours.
 */
export async function takeLease(
  db: Db,
  owner: string,
  partitions: readonly number[],
): Promise<Leased | null> {
  const free: Filter<Rewriting> = {
    $expr: { $lt: [{ $ifNull: ['$held_until', new Date(0)] }, '$$NOW'] },
    $or: [{ kind: 'offset' }, { partition: { $in: [...partitions] } }],
  };
  for (;;) {
    const next = await queue(db).findOne(free, {
      ...OPTIONS,
      projection: { _id: 1 },
      sort: { held_until: 1, entered_at: 1 },
      // As the write sees it: otherwise the two might disagree again and again.
      readPreference: 'primary',
    });
    if (next === null) return null;
    // By its `_id`: before version 7.0 a sharded collection takes it no other way.
    const leased = await queue(db).findOneAndUpdate(
      { _id: next._id, ...free },
      [{ $set: { owner, held_until: leaseEnd(LEASE_MS) } }],
      { ...OPTIONS, returnDocument: 'after' },
    );
    // Another process may have been quicker.
    if (leased !== null) return { ...leased, owner };
  }
}

/** Notes progress, and keeps the store. @returns whether it was still ours, and was not entered again. */
export async function advance(db: Db, leased: Leased, done: Progress | null): Promise<boolean> {
  return update(db, leased, {
    ...(done === null ? {} : { done: { $literal: done } }),
    held_until: leaseEnd(LEASE_MS),
  });
}

/** Gives up the lease: the next process may take the store. */
export async function release(db: Db, leased: Leased): Promise<void> {
  await update(db, leased, { held_until: leaseEnd(0) });
}

/** Takes the store out. @returns whether it was still ours, and was not entered again. */
export async function finish(db: Db, { _id, owner, entry }: Leased): Promise<boolean> {
  const { deletedCount } = await queue(db).deleteOne({ _id, owner, entry }, OPTIONS);
  return deletedCount === 1;
}

/** For how long a store has been in the queue. */
export function waitedSeconds({ entered_at }: Rewriting): number {
  return Math.max(0, Math.round((Date.now() - entered_at.getTime()) / 1_000));
}

async function update(db: Db, { _id, owner, entry }: Leased, $set: Document): Promise<boolean> {
  const { matchedCount } = await queue(db).updateOne({ _id, owner, entry }, [{ $set }], OPTIONS);
  return matchedCount === 1;
}

function leaseEnd(milliseconds: number): Document {
  return { $add: ['$$NOW', milliseconds] };
}
