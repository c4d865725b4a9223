/** What a start waits for, and for how long: a service without its servers starts too, and answers 503 until they are there. */

/** For each server: one that is there answers sooner, and nobody is served while waiting for one that is not. */
const PATIENCE_MS = 2_000;

/** What work resolves with; `undefined` where it goes on by itself, since it takes longer than a start waits. */
export async function soon<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // Told where it was waited for; afterwards nobody listens.
    work.catch(() => undefined);
  }
}
