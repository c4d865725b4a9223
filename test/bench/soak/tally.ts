/** What clients have seen since it was last asked: how long answers took, and what was wrong. */
import { rounded } from '../median.ts';
import type { Sample, Times } from './result.ts';

export class Tally {
  #answers = new Map<string, number[]>();
  #ages: number[] = [];
  #wrong: Record<string, number> = {};
  #refused: Record<string, number> = {};

  answered(kind: string, milliseconds: number): void {
    const times = this.#answers.get(kind);
    if (times === undefined) this.#answers.set(kind, [milliseconds]);
    else times.push(milliseconds);
  }

  /** An event was told to a client that waited for it. */
  told(age: number): void {
    this.#ages.push(age);
  }

  wrong(kind: string, what: string): void {
    const name = `${kind}: ${what}`;
    this.#wrong[name] = (this.#wrong[name] ?? 0) + 1;
  }

  refused(kind: string): void {
    this.#refused[kind] = (this.#refused[kind] ?? 0) + 1;
  }

  /** What it was since the last call. */
  take(): Pick<Sample, 'answers' | 'freshness' | 'wrong' | 'refused'> {
    const answers = Object.fromEntries(
      this.#answers.entries().map(([kind, times]) => [kind, timesOf(times)]),
    );
    const taken = { answers, freshness: timesOf(this.#ages), wrong: this.#wrong, refused: this.#refused };
    this.#answers = new Map();
    [this.#ages, this.#wrong, this.#refused] = [[], {}, {}];
    return taken;
  }
}

function timesOf(times: readonly number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => rounded(sorted[Math.ceil(sorted.length * share) - 1] ?? 0, 1);
  return { count: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99) };
}
