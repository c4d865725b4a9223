import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Line, LineSplitter } from '#admin/publish/line-splitter.ts';

function split(chunks: Buffer[], maxBytes = 1_000): Line[] {
  const splitter = new LineSplitter(maxBytes);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

const texts = (lines: Line[]) => lines.map(({ bytes }) => bytes?.toString('utf8') ?? null);

describe('splitting lines', () => {
  it('numbers them, cuts both kinds of ends, and keeps a last line without one', () => {
    expect(split([Buffer.from('a\r\n\nb\n c\r')])).toEqual([
      { number: 1, bytes: Buffer.from('a'), length: 1 },
      { number: 2, bytes: Buffer.from(''), length: 0 },
      { number: 3, bytes: Buffer.from('b'), length: 1 },
      { number: 4, bytes: Buffer.from(' c'), length: 2 },
    ]);
  });

  it('keeps a line of exactly the allowed length, with either end, and no longer one', () => {
    const lines = split([Buffer.from('12345\n12345\r\n123456\n12345\rx\n123456')], 5);
    expect(texts(lines)).toEqual(['12345', '12345', null, null, null]);
    expect(lines.map(({ length }) => length)).toEqual([5, 5, 6, 7, 6]);
  });

  it('holds nothing of a line that is too long, however long it gets', () => {
    const splitter = new LineSplitter(10);
    for (let part = 0; part < 1_000; part += 1) splitter.push(Buffer.alloc(1_000, 0x78));
    const [line] = splitter.push(Buffer.from('\n'));
    expect(line).toEqual({ number: 1, bytes: null, length: 1_000_000 });
    expect(texts(splitter.push(Buffer.from('next\n')))).toEqual(['next']);
  });

  it('does not depend on where chunks end', () => {
    const piece = fc.constantFrom('a', 'é', '{"x":1}', '\r', '\n', '\r\n', '');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.array(fc.nat(7)), (pieces, cuts) => {
        const whole = Buffer.from(pieces.join(''));
        const chunks: Buffer[] = [];
        let start = 0;
        for (const cut of cuts) {
          chunks.push(whole.subarray(start, start + cut));
          start += cut;
        }
        chunks.push(whole.subarray(start));
        expect(split(chunks, 6)).toEqual(split([whole], 6));
      }),
    );
  });
});
