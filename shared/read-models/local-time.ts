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
const YEAR_0 = -62_167_219_200_000;
const YEAR_9999_END = 253_402_300_799_000;

export function offsetMilliseconds(offset: string): number {
  if (offset === EXACT) return 0;
  const sign = offset.startsWith('-') ? -1 : 1;
  return sign * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))) * MINUTE;
}

/**
 * The offset is added, then the fraction cut. Beyond the years 0 to 9999 it is the nearest edge,
 * except for `EXACT`.
 */
export function toLocalDateTime(instant: number, offset: string): string {
  const shifted = instant + offsetMilliseconds(offset);
  const kept = offset === EXACT ? shifted : Math.min(Math.max(shifted, YEAR_0), YEAR_9999_END);
  return new Date(kept).toISOString().slice(0, -'.000Z'.length);
}
