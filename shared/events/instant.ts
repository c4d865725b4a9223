/** Reads RFC 3339 date-times and calendar dates strictly: they must be on the calendar. */

const MINUTE = 60_000;

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * `Date.UTC` reads the years 0 to 99 as 1900 to 1999, so it gets a year of the next cycle: the
 * calendar repeats after 400 years.
 */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

/** `YYYY-MM-DDTHH:MM:SS`, and the shortest zone. */
const SECONDS_END = 19;
const SHORTEST = SECONDS_END + 1;

let lastText = '';
let lastInstant: number | null = null;

/**
 * Milliseconds since 1970 of an RFC 3339 date-time with a zone, finer fractions cut; `null` for any
 * other text. A leap second counts as the last millisecond before it. Read character by character:
 * a regular expression takes five times as long (0.55 instead of 0.11 µs), and the projector reads
 * a dozen in every order. The last one is cached, since many are the same.
 */
export function parseInstant(text: string): number | null {
  if (text !== lastText) {
    lastInstant = readInstant(text);
    lastText = text;
  }
  return lastInstant;
}

function readInstant(text: string): number | null {
  if (text.length < SHORTEST || !hasSeparators(text)) return null;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, SECONDS_END);
  const fractionEnd = endOfFraction(text);
  const zone = zoneMilliseconds(text, fractionEnd);
  // NaN fails every comparison.
  if (!(year >= 0 && hour <= 23 && minute <= 59 && second <= 60) || zone === null) return null;
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return null;

  const leap = second === 60;
  const cycleLater = Date.UTC(year + CYCLE_YEARS, month - 1, day, hour, minute, leap ? 59 : second);
  const seconds = cycleLater - CYCLE_MS - zone;
  if (leap) {
    const utc = new Date(seconds);
    return utc.getUTCHours() === 23 && utc.getUTCMinutes() === 59 ? seconds + 999 : null;
  }
  if (fractionEnd === SECONDS_END) return seconds;
  return seconds + millisecondsOf(text, fractionEnd);
}

const ZERO = 48;
const NINE = 57;

/** The number between two places of a text; NaN unless all characters are digits. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (!(unit >= ZERO && unit <= NINE)) return Number.NaN;
    value = value * 10 + (unit - ZERO);
  }
  return value;
}

function millisecondsOf(text: string, end: number): number {
  let value = 0;
  for (let at = SECONDS_END + 1; at < SECONDS_END + 4; at += 1) {
    value = value * 10 + (at < end ? text.charCodeAt(at) - ZERO : 0);
  }
  return value;
}

function hasSeparators(text: string): boolean {
  const middle = text[10];
  return (
    text[4] === '-' &&
    text[7] === '-' &&
    (middle === 'T' || middle === 't') &&
    text[13] === ':' &&
    text[16] === ':'
  );
}

/** Where the zone must begin: behind the fraction, else behind the seconds. */
function endOfFraction(text: string): number {
  if (text[SECONDS_END] !== '.') return SECONDS_END;
  let end = SECONDS_END + 1;
  while (text.charCodeAt(end) >= ZERO && text.charCodeAt(end) <= NINE) end += 1;
  return end === SECONDS_END + 1 ? SECONDS_END : end;
}

/** How far the zone at the end of a text is ahead of UTC; `null` if it is not a zone. */
function zoneMilliseconds(text: string, from: number): number | null {
  const sign = text[from];
  if (sign === 'Z' || sign === 'z') return text.length === from + 1 ? 0 : null;
  if ((sign !== '+' && sign !== '-') || text.length !== from + 6 || text[from + 3] !== ':')
    return null;
  const hours = digits(text, from + 1, from + 3);
  const minutes = digits(text, from + 4, from + 6);
  if (!(hours <= 23 && minutes <= 59)) return null;
  return (hours * 60 + minutes) * (sign === '-' ? -MINUTE : MINUTE);
}

export function isCalendarDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && readInstant(`${text}T00:00:00Z`) !== null;
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
