/** Prints progress to standard error, since standard output has the result. */

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const EVERY_MS = 10_000;

/** @returns a function that prints the number done so far, at most every ten seconds. */
export function progressOf(what: string, total: number): (done: number) => void {
  let last = performance.now();
  return (done) => {
    if (performance.now() - last < EVERY_MS) return;
    last = performance.now();
    say(`${what} ${done} of ${total}`);
  };
}
