/** What a start waits for, and for how long: a service without its servers starts too, and answers 503 until they are there. */
import { setTimeout as sleep } from 'node:timers/promises';

/** For each server: one that is there answers sooner, and nobody is served while waiting for one that is not. */
const PATIENCE_MS = 2_000;

/** What work resolves with; `undefined` where it goes on by itself, since it takes longer than a start waits. */
export async function soon<T>(work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, sleep(PATIENCE_MS, undefined, { ref: false })]);
}
