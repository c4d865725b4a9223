/**
 * Sessions of MongoDB beside projectors at work: transactions and snapshots that are tried again for a while, and writes that end
 * others.
 */
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { runInTransaction } from '#shared/projection/slice/slice.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { withTimeLimit } from '#shared/waiting.ts';

const CONFLICTS_MS = 20_000;

/** Runs `work` in transactions until one is committed. @throws what it fails with otherwise, or still after 20 s. */
export function inTransaction<R extends object>(
  mongodb: MongoClient,
  work: (session: ClientSession) => Promise<R>,
): Promise<R> {
  const pauseMs = (attempt: number) => Math.min(20 * 2 ** attempt, 1_000) * Math.random();
  return tryAgain(CONFLICTS_MS, pauseMs, () =>
    mongodb.withSession((session) => runInTransaction(session, () => work(session))),
  );
}

/** A collection that was just made is in no snapshot for a moment; an election takes longer. */
const SNAPSHOT_MS = 15_000;

/** Runs `read` with a snapshot of its own. */
export function inSnapshot<T>(client: MongoClient, read: (session: ClientSession) => Promise<T>): Promise<T> {
  const pauseMs = () => 100;
  return tryAgain(SNAPSHOT_MS, pauseMs, () => client.withSession({ snapshot: true }, read));
}

async function tryAgain<T>(forMs: number, pauseMs: (attempt: number) => number, work: () => Promise<T>) {
  const end = performance.now() + forMs;
  for (let attempt = 0; ; await sleep(pauseMs(attempt++))) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > end) throw error;
    }
  }
}

/** A transaction that lives takes less. */
const TRANSACTION_MS = 2_000;

/**
 * Returns what `write` does. A projector that was killed or frozen inside a transaction keeps what it wrote locked for a minute: where
 * `write` hangs, the transactions of the projectors' sessions are ended. One that lives does its work again.
 * @param db the database with the checkpoints of those who apply the topic.
 */
export async function withTransactionKill<T>(db: Db, topic: string, write: () => Promise<T>): Promise<T> {
  const writing = write();
  const hangs = new Error('it hangs');
  try {
    return await withTimeLimit(
      TRANSACTION_MS,
      () => hangs,
      () => writing,
    );
  } catch (error) {
    if (error !== hangs) throw error;
    const held = await db.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
    const sessions = held.map(({ session }) => session).filter((session) => session !== undefined);
    if (sessions.length > 0) await db.client.db('admin').command({ killSessions: sessions });
  }
  return writing;
}
