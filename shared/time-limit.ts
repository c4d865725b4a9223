/** A time limit for work that retries longer than its caller wants to wait. */

/**
 * Returns the result of the work; throws `late()` if it has not ended after `milliseconds`, and ignores its later result.
 * @param work receives a signal that is aborted when the caller no longer waits.
 */
export async function withTimeLimit<T>(
  milliseconds: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // Raced, and not left to the signal alone: not all work listens to it.
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = late();
      controller.abort(error);
      reject(error);
    }, milliseconds);
  });
  try {
    return await Promise.race([work(controller.signal), expired]);
  } finally {
    clearTimeout(timer);
  }
}
