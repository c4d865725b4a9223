/**
 * A projector that was killed or frozen inside a transaction keeps what it wrote locked for a minute. A revocation
 * does not wait for that: the transactions of the projectors' sessions are ended. One that lives does its work again.
 */
import type { Db } from 'mongodb';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { withTimeLimit } from '#shared/time-limit.ts';

/** A transaction that lives takes less. */
const PATIENCE_MS = 2_000;

/**
 * Answers as `write` does; when it hangs, ends the transactions that may hold it up.
 * @param db where the checkpoints are of those who apply the topic.
 */
export async function pastHangingTransactions<T>(db: Db, topic: string, write: () => Promise<T>): Promise<T> {
  const writing = write();
  const hangs = new Error('it hangs');
  try {
    return await withTimeLimit(
      PATIENCE_MS,
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
