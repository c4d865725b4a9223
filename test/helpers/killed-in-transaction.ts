/** Makes the process kill itself between the last write of a transaction and its commit. */
import { ClientSession } from 'mongodb';

/** The variable with the number of the transaction; absent for none. */
export const KILL_IN_TRANSACTION = 'KILL_IN_TRANSACTION';

/** Kills this process before it commits the transaction that the variable names. */
export function killInTransaction(): void {
  const last = Number(process.env[KILL_IN_TRANSACTION] ?? 0);
  const { commitTransaction } = ClientSession.prototype;
  let count = 0;
  ClientSession.prototype.commitTransaction = function commit() {
    count += 1;
    if (count === last) process.kill(process.pid, 'SIGKILL');
    return commitTransaction.call(this);
  };
}
