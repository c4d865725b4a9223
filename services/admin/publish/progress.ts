/** Shows how far a publication is: one line that is rewritten on a terminal, else a line every few seconds. */
import { formatBytes, formatDuration } from '../output/durations.ts';
import type { Counts } from './publish-stream.ts';

const TERMINAL_MS = 200;
const LOG_MS = 5_000;

export interface ProgressOptions {
  output: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;
  counts: Readonly<Counts>;
  /** Size of the whole input; `null` where nobody knows. */
  totalBytes: number | null;
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #shown = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#show(), options.output.isTTY ? TERMINAL_MS : LOG_MS);
    this.#timer.unref();
  }

  /** Writes a line between two showings. */
  say(text: string): void {
    this.#clear();
    this.#options.output.write(`${text}\n`);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #show(): void {
    const { output, counts, totalBytes } = this.#options;
    const text = describeProgress(counts, totalBytes, performance.now() - this.#startedAt);
    if (output.isTTY) {
      output.write(`\r${text.slice(0, (output.columns ?? 80) - 1)}\u001B[K`);
      this.#shown = true;
    } else {
      output.write(`${text}\n`);
    }
  }

  #clear(): void {
    if (this.#shown) this.#options.output.write('\r\u001B[K');
    this.#shown = false;
  }
}

/** One line: what is done, how fast, and how long it will take. */
export function describeProgress(counts: Counts, totalBytes: number | null, elapsedMs: number): string {
  const { sent, rejected, bytes } = counts;
  const rate = elapsedMs === 0 ? 0 : Math.round((sent * 1_000) / elapsedMs);
  const parts = [`sent ${sent}`, `rejected ${rejected}`, `${rate} events/s`];
  if (totalBytes !== null && totalBytes > 0 && bytes > 0) {
    const share = Math.min(1, bytes / totalBytes);
    parts.push(
      `${Math.floor(share * 100)} % of ${formatBytes(totalBytes)}`,
      `${formatDuration((elapsedMs * (1 - share)) / share)} left`,
    );
  } else {
    parts.push(formatBytes(bytes));
  }
  return parts.join(', ');
}
