/** How far a rebuild is, in words. */
import { formatDuration } from '../output/durations.ts';

/** The rate is that of the last seconds: a throttled rebuild has quick and slow times. */
const RATE_MS = 10_000;
const BAR = 24;

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
