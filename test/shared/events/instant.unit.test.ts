import { describe, expect, it } from 'vitest';
import { words } from '#test/words.ts';
import { isCalendarDate, parseInstant } from '#shared/events/instant.ts';

describe('parseInstant', () => {
  it.each([
    ['2026-11-20T21:15:04.120Z', '2026-11-20T21:15:04.120Z'],
    ['2026-11-20T18:15:04.120-03:00', '2026-11-20T21:15:04.120Z'],
    ['2026-11-20T21:15:04z', '2026-11-20T21:15:04.000Z'],
    ['2026-11-20t21:15:04.1Z', '2026-11-20T21:15:04.100Z'],
    ['2026-11-20T21:15:04.1239999Z', '2026-11-20T21:15:04.123Z'],
    ['2024-02-29T00:00:00+00:00', '2024-02-29T00:00:00.000Z'],
    ['1900-01-01T00:00:00.5Z', '1900-01-01T00:00:00.500Z'],
    ['2016-12-31T20:59:60-03:00', '2016-12-31T23:59:59.999Z'],
  ])('reads %s', (text, iso) => {
    expect(new Date(parseInstant(text) ?? Number.NaN).toISOString()).toBe(iso);
  });

  it.each([
    ...words(
      '2026-02-29T00:00:00Z 2026-04-31T00:00:00Z 1900-02-29T00:00:00Z 2026-13-01T00:00:00Z 2026-00-10T00:00:00Z',
      '2026-11-20T24:00:00Z 2026-11-20T21:60:00Z 2026-11-20T21:15:60Z 2026-11-20T21:15:04 2026-11-20T21:15:04+3:00',
      '2026-11-20T21:15:04+24:00 2026-11-20T21:15:04.Z 2026-11-20 20261120T211504Z',
    ),
    '2026-11-20 21:15:04Z',
    '',
  ])('refuses %s', (text) => {
    expect(parseInstant(text)).toBeNull();
  });
});

it('a date is only a calendar date', () => {
  expect(isCalendarDate('2024-02-29')).toBe(true);
  for (const text of words('2023-02-29 2024-2-29 2024-02-29T00:00:00Z'))
    expect(isCalendarDate(text), text).toBe(false);
});
