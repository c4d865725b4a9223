/**
 * Local store time. Bodies hold date-times already shifted by the offset that the store had when they were
 * made; when it has moved since, they are shifted again on the way out.
 */

/** The offset of a store whose own record has not arrived yet (rule R7.7). */
export const DEFAULT_OFFSET = '-03:00';

/**
 * Stands for UTC in documents whose date-times local time may not be able to tell: years have as many digits as they need
 * there. It is no store's offset, so such bodies are shifted whenever they are read.
 */
export const EXACT = 'exact';

const MINUTE = 60_000;
const YEAR_0 = -62_167_219_200_000;
const YEAR_9999_END = 253_402_300_799_000;

/** Milliseconds of an offset such as `-03:00`. */
export function offsetMilliseconds(offset: string): number {
  if (offset === EXACT) return 0;
  const sign = offset.startsWith('-') ? -1 : 1;
  return sign * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))) * MINUTE;
}

/**
 * `YYYY-MM-DDTHH:MM:SS` of an instant in local time: the fraction is cut, then the offset added.
 * Instants that the shift moves out of the years 0 to 9999 are told as the edge of these, but for `EXACT`.
 */
export function toLocalDateTime(instant: number, offset: string): string {
  const shifted = Math.floor(instant / 1_000) * 1_000 + offsetMilliseconds(offset);
  const kept = offset === EXACT ? shifted : Math.min(Math.max(shifted, YEAR_0), YEAR_9999_END);
  const day = Math.floor(kept / DAY);
  const second = (kept - day * DAY) / 1_000;
  const minute = Math.floor(second / 60);
  return `${dateOf(day)}${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}:${twoDigits(second % 60)}`;
}

const DAY = 86_400_000;
/** Years of days; the events of a slice lie on few. */
const CACHED_DATES = 4_096;
const dateCache = new Map<number, string>();

/** `YYYY-MM-DDT` of a day, counted from 1970: cached, since making it is most of the work. */
function dateOf(day: number): string {
  const known = dateCache.get(day);
  if (known !== undefined) return known;
  if (dateCache.size >= CACHED_DATES) dateCache.clear();
  const iso = new Date(day * DAY).toISOString();
  const made = iso.slice(0, iso.indexOf('T') + 1);
  dateCache.set(day, made);
  return made;
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Of a number below 60. */
function twoDigits(number: number): string {
  return TWO_DIGITS[number] ?? '';
}

/**
 * A local date-time in JSON, by the name of its field: `created_at`, `at` of a history, `scheduled_for`. A quote inside of
 * a string has a backslash before it, so a quote, a colon and a quote stand between a name and its text and nowhere else.
 */
const DATE_TIME = /"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}"(?<="(?:at|scheduled_for|[^"\\]+_at)":.{21})/g;

/** The same where years may have a sign and six digits. */
const EXACT_DATE_TIME =
  /"(?:\d{4}|[+-]\d{6})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}"(?<="(?:at|scheduled_for|[^"\\]+_at)":(?:.{21}|.{24}))/g;

/** A body made for one offset, as it reads under another; it may be a part of JSON, such as members without braces. */
export function shiftBody(body: string, from: string, to: string): string {
  if (from === to) return body;
  const before = offsetMilliseconds(from);
  return body.replaceAll(from === EXACT ? EXACT_DATE_TIME : DATE_TIME, (quoted) => {
    const instant = Date.parse(`${quoted.slice(1, -1)}Z`) - before;
    return `"${toLocalDateTime(instant, to)}"`;
  });
}

/** Date-times at the edges of what can be shown: which instants they stand for they do not tell. */
const EDGES = ['0000-01-01T00:00:00', '9999-12-31T23:59:59'];

/** Whether a body can be shifted without losing anything, so that it can be shifted back. */
export function isReversible(body: string): boolean {
  return !EDGES.some((edge) => body.includes(edge));
}
