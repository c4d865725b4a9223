import { describe, expect, it } from 'vitest';
import {
  describeRest,
  formatAge,
  formatDuration,
  printable,
  shortened,
  tableOf,
} from '#admin/output.ts';

describe('text for terminals', () => {
  it('escapes control characters', () => {
    expect(printable('a\u001B[2Jb\r\n\tc\u202Ed\u0085')).toBe(
      String.raw`a\u001b[2Jb\u000d\n\tc\u202ed\u0085`,
    );
    expect(printable('Açaí 🍕')).toBe('Açaí 🍕');
    expect(shortened('abcdef', 4)).toBe('abc…');
  });

  it('shows durations and the remaining time', () => {
    expect(
      [0, 999, 1_000, 59_900, 60_000, 3_600_000, 90_000_000].map((ms) => formatDuration(ms)),
    ).toEqual(['0 ms', '999 ms', '1.0 s', '59.9 s', '1 min', '1 h', '1 d']);
    expect(formatAge(1_000, 63_500)).toBe('1 min');
    expect(formatAge(5_000, 1_000)).toBe('0 s');
    expect(describeRest(1, 4, 1_000)).toBe(', 25 %, 3.0 s left');
    expect([describeRest(0, 4, 1_000), describeRest(0, 0, 1_000)]).toEqual(['', '']);
  });

  it('wraps the flexible column', () => {
    const rows = [{ a: 'x', b: 'word '.repeat(20).trim() }];
    const text = tableOf(rows, ['a', ['B', 'b', 'fills']], 40);
    expect(text.split('\n').every((line) => line.length <= 40)).toBe(true);
    expect(text.match(/word/g)).toHaveLength(20);
  });
});
