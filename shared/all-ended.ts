/** Waiting for what is done side by side. */

/**
 * Waits until all have ended, also where one fails: otherwise the rest would keep running unnoticed.
 * @throws the first failure.
 */
export async function allEnded<T>(work: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(work);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
