/**
 * MongoDB sessions while projectors write: transactions and snapshots with retries, and writes that
 * kill a hanging transaction.
 */
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';
import { runInTransaction, checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import { withTimeLimit } from '#shared/waiting.ts';

const CONFLICTS_MS = 20_000;

/** Runs `work` in transactions until one is committed, for at most 20 s. */
export function inTransaction<T>(
  mongodb: MongoClient,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const pauseMs = (attempt: number) => Math.min(20 * 2 ** attempt, 1_000) * Math.random();
  return tryAgain(CONFLICTS_MS, pauseMs, () =>
    mongodb.withSession((session) => runInTransaction(session, () => work(session))),
  );
}

/** A new collection is in no snapshot for a moment; an election takes longer. */
const SNAPSHOT_MS = 15_000;

/** Runs `read` in a new snapshot. */
export function inSnapshot<T>(
  client: MongoClient,
  read: (session: ClientSession) => Promise<T>,
): Promise<T> {
  return tryAgain(
    SNAPSHOT_MS,
    () => 100,
    () => client.withSession({ snapshot: true }, read),
  );
}

async function tryAgain<T>(
  forMs: number,
  pauseMs: (attempt: number) => number,
  work: () => Promise<T>,
) {
  const end = performance.now() + forMs;
  for (let attempt = 0; ; await sleep(pauseMs(attempt++))) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > end) throw error;
    }
  }
}

/** A running projector's transaction takes less. */
const TRANSACTION_MS = 2_000;

/**
 * Runs `write`. A projector that was killed or frozen inside a transaction locks its writes for a minute: where `write` hangs, the
 * projectors' sessions are killed. A running projector retries.
 * @param db the database with the topic's checkpoints.
 */
export async function withTransactionKill<T>(
  db: Db,
  topic: string,
  write: () => Promise<T>,
): Promise<T> {
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
    const held = await checkpointsIn(db).find({ topic }).toArray();
    const sessions = held.map(({ session }) => session).filter((session) => session !== undefined);
    if (sessions.length > 0) await db.client.db('admin').command({ killSessions: sessions });
  }
  return writing;
}
