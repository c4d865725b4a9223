/** Progress of long work, for people who wait: how much is done, and how fast it goes. */
import type { Say } from './say.ts';

const EVERY_MS = 10_000;

/** Tells, at most every ten seconds, how many of `total` are done; give it the number done so far. */
export function progressOf(say: Say, what: string, total: number): (done: number) => void {
  const began = performance.now();
  let last = began;
  return (done) => {
    const now = performance.now();
    if (now - last < EVERY_MS) return;
    last = now;
    const rate = Math.round((done * 1_000) / (now - began));
    say(
      `${what} ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} (${rate.toLocaleString('en-US')} a second)`,
    );
  };
}
