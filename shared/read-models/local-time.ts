/**
 * Local store time. Stored JSON has date-times in the store's offset at that time; readers shift
 * them if it has moved since.
 */

/** The offset of a store whose own record has not arrived yet (rule R7.7). */
export const DEFAULT_OFFSET = '-03:00';

/**
 * Stands for UTC with years of any length, for instants that local time cannot show. Such JSON is
 * always shifted.
 */
export const EXACT = 'exact';

const MINUTE = 60_000;
const DAY = 86_400_000;
const YEAR_0 = -62_167_219_200_000;
const YEAR_9999_END = 253_402_300_799_000;

/** Cached, since date-times of one record have one offset. */
let last = { offset: EXACT, milliseconds: 0 };

export function offsetMilliseconds(offset: string): number {
  if (offset !== last.offset) last = { offset, milliseconds: readOffset(offset) };
  return last.milliseconds;
}

function readOffset(offset: string): number {
  if (offset === EXACT) return 0;
  const sign = offset.startsWith('-') ? -1 : 1;
  return sign * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))) * MINUTE;
}

/**
 * The fraction is cut, then the offset added. Beyond the years 0 to 9999 it is the nearest edge,
 * except for `EXACT`.
 */
export function toLocalDateTime(instant: number, offset: string): string {
  const shifted = Math.floor(instant / 1_000) * 1_000 + offsetMilliseconds(offset);
  const kept = offset === EXACT ? shifted : Math.min(Math.max(shifted, YEAR_0), YEAR_9999_END);
  const day = Math.floor(kept / DAY);
  if (day !== lastDay) {
    lastDate = new Date(day * DAY).toISOString().slice(0, -'00:00:00.000Z'.length);
    lastDay = day;
  }
  const second = (kept - day * DAY) / 1_000;
  const minute = Math.floor(second / 60);
  return `${lastDate}${TWO_DIGITS[Math.floor(minute / 60)]}:${TWO_DIGITS[minute % 60]}:${TWO_DIGITS[second % 60]}`;
}

/**
 * The last date is cached, since date-times of one record are mostly of one day: `toISOString`
 * takes four times as long.
 */
let lastDay = Number.NaN;
let lastDate = '';
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
