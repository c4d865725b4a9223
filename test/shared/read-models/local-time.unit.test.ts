import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { words } from '#test/words.ts';
import { offsetMilliseconds, toLocalDateTime } from '#shared/read-models/local-time.ts';
import { shiftJson } from '#shared/records/stored-json.ts';

it('an instant before 1970 is shown without its fraction', () => {
  const instant = Date.parse('1900-01-01T00:00:00.500Z');
  expect(toLocalDateTime(instant, '-03:00')).toBe('1899-12-31T21:00:00');
});

describe('shiftJson', () => {
  it('changes only date-times in their fields, whatever else a body contains', () => {
    const dateTime = fc
      .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 19));
    const text = fc.oneof(
      dateTime,
      fc.string(),
      fc.constantFrom('created_at', '"created_at":"2026-11-20T21:15:04"', '\\', '\\"', 'at":"'),
      dateTime.map((at) => JSON.stringify({ at, updated_at: at })),
    );
    const offset = fc.constantFrom('-03:00', '+00:00', '+05:30', '-02:30');
    const name = fc.constantFrom(
      ...words('at created_at scheduled_for name _at format at_ created_at_'),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        text,
        fc.constantFrom(null, true, 1.5),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, offset, offset, (any, from, to) => {
        expect(shiftJson(JSON.stringify(any), from, to)).toBe(
          JSON.stringify(shifted(any, from, to)),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('accepts parts of JSON: members without braces and items without brackets', () => {
    const members = '"id":"1","created_at":"2026-11-20T21:15:04"';
    expect(shiftJson(members, '-03:00', '-04:00')).toBe(
      '"id":"1","created_at":"2026-11-20T20:15:04"',
    );
    expect(shiftJson(`{${members}},{${members}}`, '-03:00', '-03:00')).toBe(
      `{${members}},{${members}}`,
    );
  });
});

/** The same on parsed JSON. */
function shifted(value: unknown, from: string, to: string, field = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => shifted(item, from, to));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, shifted(member, from, to, name)]),
    );
  }
  if (typeof value !== 'string' || !/^(?:at|scheduled_for|.+_at)$/.test(field)) return value;
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(value)) return value;
  return toLocalDateTime(Date.parse(`${value}Z`) - offsetMilliseconds(from), to);
}
