import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { shiftBody, toLocalDateTime } from '#shared/read-models/local-time.ts';

describe('toLocalDateTime', () => {
  it('cuts the fraction before it shifts', () => {
    expect(toLocalDateTime(Date.parse('2026-11-20T21:15:04.999Z'), '-03:00')).toBe('2026-11-20T18:15:04');
    expect(toLocalDateTime(Date.parse('1900-01-01T00:00:00.500Z'), '-03:00')).toBe('1899-12-31T21:00:00');
    expect(toLocalDateTime(Date.parse('2026-11-20T21:15:04Z'), '+05:30')).toBe('2026-11-21T02:45:04');
  });

  it('stays at the edge of the years that four digits can show', () => {
    expect(toLocalDateTime(Date.parse('0000-01-01T00:00:00Z'), '-03:00')).toBe('0000-01-01T00:00:00');
    expect(toLocalDateTime(Date.parse('9999-12-31T23:59:59Z'), '+03:00')).toBe('9999-12-31T23:59:59');
  });
});

describe('shiftBody', () => {
  it('reads as if it had been made for the other offset', () => {
    const offsets = fc.constantFrom('-03:00', '-04:00', '+00:00', '+05:30', '-02:30');
    const instants = fc.date({
      min: new Date('1900-01-01'),
      max: new Date('2100-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(offsets, offsets, instants, (from, to, date) => {
        const body = (offset: string) =>
          JSON.stringify({
            id: 'o1',
            notes: '2026-11-20T21:15:04',
            scheduled_for: null,
            created_at: toLocalDateTime(date.getTime(), offset),
            status_history: [{ status: 'pending', at: toLocalDateTime(date.getTime(), offset) }],
          });
        expect(shiftBody(body(from), from, to)).toBe(body(to));
      }),
    );
  });
});
