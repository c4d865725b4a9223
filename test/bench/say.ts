/** Progress for people, on standard error: standard output belongs to the result. */

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const EVERY_MS = 10_000;

/** Tells, at most every ten seconds, how many of `total` are done; give it the number done so far. */
export function progressOf(what: string, total: number): (done: number) => void {
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
