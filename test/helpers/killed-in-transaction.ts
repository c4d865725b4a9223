/** Kills the process between the last write of a transaction and its commit. */
import { ClientSession } from 'mongodb';

/** Names the transaction in the environment of a process of a test; absent for none. */
export const KILL_IN_TRANSACTION = 'KILL_IN_TRANSACTION';

/** Lets this process kill itself when it is about to commit the n-th transaction that the environment names. */
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
