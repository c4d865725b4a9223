/** One attempt at one transaction. Whether to try again is the partition's decision, from what its checkpoint says. */
import type { ClientSession } from 'mongodb';
import { activeSpan, traced } from '../../tracing.ts';

/**
 * Runs `work` in a transaction and commits it. Read and write concern count only on the transaction itself.
 * @throws every error as it comes, after the transaction was aborted.
 */
export async function runInTransaction<T>(session: ClientSession, work: () => Promise<T>): Promise<T> {
  return traced(activeSpan()?.child('transaction', 'internal'), () => attempt(session, work));
}

async function attempt<T>(session: ClientSession, work: () => Promise<T>): Promise<T> {
  session.startTransaction({
    readConcern: { level: 'snapshot' },
    writeConcern: { w: 'majority' },
    maxCommitTimeMS: 10_000,
  });
  try {
    const result = await work();
    await session.commitTransaction();
    return result;
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    throw error;
  }
}
