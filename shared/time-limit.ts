/** A limit on waiting, for what goes on trying for longer than somebody wants to wait. */

/**
 * Answers as the work does; fails with `late()` where that has not ended after `milliseconds`. What it comes to afterwards is of no
 * interest.
 * @param work is given a signal that lets it drop what nobody waits for any longer.
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
