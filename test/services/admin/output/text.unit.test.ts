import { describe, expect, it } from 'vitest';
import { printable, shortened } from '#admin/output.ts';

describe('text for terminals', () => {
  it('escapes control characters', () => {
    expect(printable('a\u001B[2Jb\r\n\tc\u202Ed\u0085')).toBe(
      String.raw`a\u001b[2Jb\u000d\n\tc\u202ed\u0085`,
    );
    expect(printable('Açaí 🍕')).toBe('Açaí 🍕');
    expect(shortened('abcdef', 4)).toBe('abc…');
  });
});
