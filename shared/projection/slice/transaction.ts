/** One attempt at one transaction. Whether to try again is the partition's decision, from what its checkpoint says. */
import type { ClientSession } from 'mongodb';
import { StoreDataError } from '../../errors.ts';

/**
 * Runs `work` in a transaction and commits it. Read and write concern count only on the transaction itself.
 * @param work answers `fenced` to undo everything.
 * @throws {StoreDataError} `fenced`; any other error as it comes, after the transaction was aborted.
 */
export async function runInTransaction<T extends object>(
  session: ClientSession,
  work: () => Promise<T | 'fenced'>,
): Promise<T> {
  session.startTransaction({
    readConcern: { level: 'snapshot' },
    writeConcern: { w: 'majority' },
    maxCommitTimeMS: 10_000,
  });
  try {
    const result = await work();
    if (result === 'fenced') throw new StoreDataError('fenced', 'the partition has another owner');
    await session.commitTransaction();
    return result;
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    throw error;
  }
}
