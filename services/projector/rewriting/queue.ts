/**
 * The stores whose offset has moved, and how far their bodies are made for the present one. A store enters in the transaction
 * that moves its offset, so none is forgotten; nothing else costs a write, and no index beside `_id` is needed.
 */
import type { ClientSession, Collection, Db, Document } from 'mongodb';
import { REWRITINGS } from '#shared/read-models/collections.ts';
import type { Progress } from './progress.ts';

/** A store that waits, or is worked on. */
export interface Rewriting {
  /** The store's id. */
  _id: string;
  store_id: string;
  /** Counts its moves: who works for an earlier one finds that it is over. */
  move: number;
  moved_at: Date;
  /** Absent at the beginning. */
  done?: Progress;
  /** Who works on it, and until when others leave it to them, by the server's clock. */
  owner?: string;
  held_until?: Date;
}

/** A store that this process works on. */
export type Claimed = Rewriting & { owner: string };

/** For how long a store is left to a process that says nothing. */
const HELD_MS = 6_000;

const OPTIONS = { maxTimeMS: 5_000 };

function queue(db: Db): Collection<Rewriting> {
  return db.collection<Rewriting>(REWRITINGS);
}

/** Enters stores, or lets them begin anew. Call it in the transaction that moves their offsets. */
export async function enqueue(db: Db, session: ClientSession, storeIds: readonly string[]): Promise<void> {
  if (storeIds.length === 0) return;
  const moved_at = new Date();
  const operations = storeIds.map((_id) => ({
    updateOne: {
      filter: { _id },
      update: {
        $set: { store_id: _id, moved_at },
        $inc: { move: 1 },
        $unset: { done: '' as const, owner: '' as const, held_until: '' as const },
      },
      upsert: true,
    },
  }));
  await queue(db).bulkWrite(operations, { session, ordered: false });
}

/** Takes the store that has waited longest for its turn; `null` where all are held by others or none is left. */
export async function claim(db: Db, owner: string): Promise<Claimed | null> {
  const claimed = await queue(db).findOneAndUpdate(
    { $expr: { $lt: [{ $ifNull: ['$held_until', new Date(0)] }, '$$NOW'] } },
    [{ $set: { owner, held_until: heldUntil(HELD_MS) } }],
    { ...OPTIONS, sort: { held_until: 1, moved_at: 1 }, returnDocument: 'after' },
  );
  return claimed === null ? null : { ...claimed, owner };
}

/** Notes progress, and keeps the store. @returns whether it was still ours, and its offset has not moved again. */
export async function advance(db: Db, claimed: Claimed, done: Progress): Promise<boolean> {
  return update(db, claimed, { done: { $literal: done }, held_until: heldUntil(HELD_MS) });
}

/** Leaves the store to whoever comes next. */
export async function release(db: Db, claimed: Claimed): Promise<void> {
  await update(db, claimed, { held_until: heldUntil(0) });
}

/** Takes the store out. @returns whether it was still ours, and its offset has not moved again. */
export async function finish(db: Db, { _id, owner, move }: Claimed): Promise<boolean> {
  const { deletedCount } = await queue(db).deleteOne({ _id, owner, move }, OPTIONS);
  return deletedCount === 1;
}

/** Every store that is in the queue, and how far it is. */
export async function waiting(db: Db): Promise<Pick<Rewriting, '_id' | 'done'>[]> {
  return queue(db)
    .find({}, { ...OPTIONS, projection: { done: 1 } })
    .toArray();
}

async function update(db: Db, { _id, owner, move }: Claimed, $set: Document): Promise<boolean> {
  const { matchedCount } = await queue(db).updateOne({ _id, owner, move }, [{ $set }], OPTIONS);
  return matchedCount === 1;
}

function heldUntil(milliseconds: number): Document {
  return { $add: ['$$NOW', milliseconds] };
}
