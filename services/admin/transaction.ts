/** A transaction that is tried again for a while: against conflicts with projectors at work, and servers that are away. */
import type { ClientSession, MongoClient } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';
import { runInTransaction } from '#shared/projection/slice/slice.ts';

const PATIENCE_MS = 20_000;

/** Runs `work` in transactions until one is committed. @throws what it fails with otherwise, or still after 20 s. */
export async function inTransaction<R extends object>(
  mongodb: MongoClient,
  work: (session: ClientSession) => Promise<R>,
): Promise<R> {
  const end = Date.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await mongodb.withSession((session) => runInTransaction(session, () => work(session)));
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > end) throw error;
    }
    await sleep(Math.min(20 * 2 ** attempt, 1_000) * Math.random());
  }
}
