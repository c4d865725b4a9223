/** Shows how far something is: in one line that is rewritten on a terminal, else in a line every few seconds. */

const TERMINAL_MS = 200;
const LOG_MS = 5_000;

export type Output = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;

/** One line that is rewritten, or lines that follow each other. */
export class ProgressLine {
  readonly #output: Output;
  #shownAt = -Infinity;
  #isShown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** How often it shows something. */
  get everyMs(): number {
    return this.#output.isTTY ? TERMINAL_MS : LOG_MS;
  }

  show(text: string): void {
    const now = performance.now();
    if (now - this.#shownAt < this.everyMs) return;
    this.#shownAt = now;
    if (this.#output.isTTY) {
      this.#output.write(`\r${text.slice(0, (this.#output.columns ?? 80) - 1)}\u001B[K`);
      this.#isShown = true;
    } else {
      this.#output.write(`${text}\n`);
    }
  }

  /** Writes a line that stays. */
  say(text: string): void {
    this.clear();
    this.#output.write(`${text}\n`);
  }

  clear(): void {
    if (this.#isShown) this.#output.write('\r\u001B[K');
    this.#isShown = false;
    this.#shownAt = -Infinity;
  }
}
