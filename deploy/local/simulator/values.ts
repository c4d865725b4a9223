/** Money in whole cents, since binary fractions don't add up, and points in time, as events carry them. */
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';

export const [MINUTE, DAY] = [60_000, 86_400_000];

/** Cents as events carry money: `3990` is `"39.90"`. */
export function money(amount: number): string {
  return (amount / 100).toFixed(2);
}

/** The cents of an amount that an event carries. */
export function cents(text: string): number {
  return Number(text.replace('.', ''));
}

/** A share of an amount, to the nearest cent. */
export function percentOf(amount: number, percent: number): number {
  return Math.round((amount * percent) / 100);
}

/** Milliseconds since 1970 as RFC 3339. */
export function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** When the local day begins that comes so many days after the one of `now`. */
export function localDay(now: number, offset: string, days: number): number {
  const shift = offsetMilliseconds(offset);
  return (Math.floor((now + shift) / DAY) + days) * DAY - shift;
}
