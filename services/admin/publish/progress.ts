/** Shows how far a publication is. */
import { formatBytes, formatDuration } from '../output/durations.ts';
import { type Output, ProgressLine } from '../output/progress-line.ts';
import type { Counts } from './publish-stream.ts';

export interface ProgressOptions {
  output: Output;
  counts: Readonly<Counts>;
  /** Size of the whole input; `null` where nobody knows. */
  totalBytes: number | null;
}

export class Progress {
  readonly #line: ProgressLine;
  readonly #timer: NodeJS.Timeout;

  constructor({ output, counts, totalBytes }: ProgressOptions) {
    const startedAt = performance.now();
    const line = new ProgressLine(output);
    const show = () => line.show(describeProgress(counts, totalBytes, performance.now() - startedAt));
    this.#line = line;
    this.#timer = setInterval(show, line.everyMs);
    this.#timer.unref();
  }

  /** Writes a line between two showings. */
  say(text: string): void {
    this.#line.say(text);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#line.clear();
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
