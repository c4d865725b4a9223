/** RFC 3339 date-times and calendar dates, read strictly: what is not on the calendar is no date. */

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

const MINUTE = 60_000;

/** Days of a month of the proleptic Gregorian calendar; `month` from 1. */
function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isOnCalendar(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** Milliseconds since 1970 of a UTC date; unlike `Date.UTC` right for the years 0 to 99 too. */
export function utcMilliseconds(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number {
  if (year >= 100) return Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date.getTime();
}

/**
 * The instant of an RFC 3339 date-time with a zone, in milliseconds since 1970, finer fractions cut;
 * `null` when it is none. A leap second counts as the last millisecond before it.
 */
export function parseInstant(text: string): number | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [, years, months, days, hours, minutes, seconds, fraction, sign, zoneHours, zoneMinutes] = match;
  const year = Number(years);
  const month = Number(months);
  const day = Number(days);
  const hour = Number(hours);
  const minute = Number(minutes);
  const second = Number(seconds);
  if (!isOnCalendar(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;

  let zone = 0;
  if (sign !== undefined) {
    const aside = Number(zoneHours);
    const rest = Number(zoneMinutes);
    if (aside > 23 || rest > 59) return null;
    zone = (aside * 60 + rest) * (sign === '-' ? -MINUTE : MINUTE);
  }
  const leap = second === 60;
  const whole = utcMilliseconds(year, month, day, hour, minute, leap ? 59 : second) - zone;
  if (leap) {
    const utc = new Date(whole);
    return utc.getUTCHours() === 23 && utc.getUTCMinutes() === 59 ? whole + 999 : null;
  }
  return fraction === undefined ? whole : whole + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/** Whether a text is `YYYY-MM-DD` and on the calendar. */
export function isCalendarDate(text: string): boolean {
  const match = DATE.exec(text);
  return match !== null && isOnCalendar(Number(match[1]), Number(match[2]), Number(match[3]));
}

/**
 * Milliseconds of `YYYY-MM-DDTHH:MM:SS` read as if it were UTC; `null` when it has another shape or
 * is not on the calendar. The caller shifts it by the offset it was meant in.
 */
export function parseLocalDateTime(text: string): number | null {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:[0-5]\d$/.test(text) ? parseInstant(`${text}Z`) : null;
}
