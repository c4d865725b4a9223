/** A limit on waiting, for libraries that go on trying longer than somebody at a terminal wants to wait. */

/** Answers as `work` does, or fails with `late()` after `milliseconds`. */
export async function withTimeLimit<T>(
  work: Promise<T>,
  milliseconds: number,
  late: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    // What is still under way may fail later; its failure is of no interest then.
    work.catch(() => undefined);
  }
}
