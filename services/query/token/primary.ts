/** Whether MongoDB's primary answers, for requests that need nothing else of it: without it no token is given. */
import type { MongoClient } from 'mongodb';
import type { Bounded } from '../deadline.ts';

/** For so long an answer is proof enough: ten questions a second under load, one for each request without. */
const FRESH_MS = 100;

/**
 * Makes the check. It resolves, mostly at once, where the primary has answered just now; those who wait share one question.
 * @throws when it does not answer in time.
 */
export function primaryCheck(mongodb: MongoClient, bounded: Bounded): () => Promise<void> {
  /** When the last question that was answered was asked. */
  let answered = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;
  const ask = async () => {
    const asked = performance.now();
    await bounded(() => mongodb.db('admin').command({ ping: 1 }, { readPreference: 'primary' }));
    answered = asked;
  };
  return async () => {
    if (performance.now() - answered < FRESH_MS) return;
    asking ??= ask().finally(() => {
      asking = null;
    });
    await asking;
  };
}
