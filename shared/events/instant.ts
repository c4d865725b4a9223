/** Reads RFC 3339 date-times and calendar dates strictly: they must be on the calendar. */

const DATE_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
/** Where the date ends, and where the seconds begin. */
const DATE_END = 10;
const SECONDS = 17;
/** A fraction that is finer than a millisecond: `Date.parse` misreads very long ones. */
const FINE = /(\.\d{3})\d+/;

let lastText = '';
let lastInstant: number | null = null;

/**
 * Milliseconds since 1970 of an RFC 3339 date-time with a zone, finer fractions cut; `null` for any
 * other text. A leap second counts as the last millisecond before it. The last one is cached, since
 * many date-times of a record are the same.
 */
export function parseInstant(text: string): number | null {
  if (text !== lastText) {
    lastInstant = readInstant(text);
    lastText = text;
  }
  return lastInstant;
}

function readInstant(text: string): number | null {
  if (!DATE_TIME.test(text) || !isOnCalendar(text.slice(0, DATE_END))) return null;
  if (text.startsWith('60', SECONDS)) {
    const second = text.slice(SECONDS + 2).replace(/^\.\d+/, '');
    const before = Date.parse(`${text.slice(0, SECONDS)}59.999${second}`.toUpperCase());
    return new Date(before).toISOString().endsWith('T23:59:59.999Z') ? before : null;
  }
  return Date.parse(text.replace(FINE, '$1').toUpperCase());
}

/** `Date` takes February 30 for March 1 or 2. */
function isOnCalendar(date: string): boolean {
  const day = Number(date.slice(-2));
  return day <= 28 || new Date(date).getUTCDate() === day;
}

export function isCalendarDate(text: string): boolean {
  return readInstant(`${text}T00:00:00Z`) !== null && text.length === DATE_END;
}

/** Milliseconds of `YYYY-MM-DDTHH:MM:SS` as if it were UTC; `null` for any other text. */
export function parseLocalDateTime(text: string): number | null {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:[0-5]\d$/.test(text) ? parseInstant(`${text}Z`) : null;
}

/** Milliseconds of a date-time that a schema has checked. */
export function checkedInstant(text: string): number {
  const milliseconds = parseInstant(text);
  if (milliseconds === null) throw new TypeError('not a checked date-time');
  return milliseconds;
}
