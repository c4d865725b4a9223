/** Prints progress to standard error, since standard output has the result. */

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const EVERY_MS = 10_000;

/** @returns a function that prints the number done so far, at most every ten seconds. */
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
