/** A hook for the tests of recovery: kills the process between a transaction's first write and its commit. */

/**
 * @param transaction the how-many-th transaction shall not survive; `null` for none.
 * @returns a function to call inside each transaction after its first write.
 */
export function crashHook(transaction: number | null): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count === transaction) process.kill(process.pid, 'SIGKILL');
  };
}
