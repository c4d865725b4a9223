/** Points in time: as events carry them, and where a store's days begin. */
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';

const DAY = 86_400_000;

/** Milliseconds since 1970 as RFC 3339. */
export function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** When the local day begins that comes so many days after the one of `now`. */
export function localDay(now: number, offset: string, days: number): number {
  const shift = offsetMilliseconds(offset);
  return (Math.floor((now + shift) / DAY) + days) * DAY - shift;
}
