/** Shows how far a rebuild is: a bar that is rewritten on a terminal, else a line every few seconds. */
import { formatDuration } from '../output/durations.ts';

const TERMINAL_MS = 200;
const LOG_MS = 5_000;
/** The rate is that of the last seconds: a throttled rebuild has quick and slow times. */
const RATE_MS = 10_000;
const BAR = 24;

type Output = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;

/** One line that is rewritten, or lines that follow each other. */
export class ProgressLine {
  readonly #output: Output;
  #shownAt = -Infinity;
  #isShown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  show(text: string): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#output.isTTY ? TERMINAL_MS : LOG_MS)) return;
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

/** The rate at which something is applied. */
export class Rate {
  readonly #samples: { at: number; applied: number }[] = [];

  /** Takes a sample. @returns how many a second; 0 while that is not known. */
  take(applied: number, at = performance.now()): number {
    this.#samples.push({ at, applied });
    while ((this.#samples[1]?.at ?? at) < at - RATE_MS) this.#samples.shift();
    const [first] = this.#samples;
    if (first === undefined || at === first.at) return 0;
    return ((applied - first.applied) * 1_000) / (at - first.at);
  }
}

/** A bar with numbers, rate and time left. */
export function describeCatchUp(applied: number, total: number, perSecond: number): string {
  const share = total === 0 ? 1 : applied / total;
  const filled = Math.floor(share * BAR);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
  const parts = [`${bar} ${Math.floor(share * 100)} %`, `${applied} of ${total}`];
  if (perSecond > 0) {
    parts.push(
      `${Math.round(perSecond)} events/s`,
      `${formatDuration(((total - applied) / perSecond) * 1_000)} left`,
    );
  }
  return parts.join(', ');
}
