import { describe, expect, it } from 'vitest';
import { decode, parseUrlEncoded } from '#query/parameters/url-encoded.ts';

describe('parseUrlEncoded', () => {
  it('keeps order and repetitions, and skips empty segments', () => {
    expect(parseUrlEncoded('&b=2&&a=1&b=3&')).toEqual([
      { name: 'b', value: '2' },
      { name: 'a', value: '1' },
      { name: 'b', value: '3' },
    ]);
  });

  it('reads a name without value as empty, and the first = as the separator', () => {
    expect(parseUrlEncoded('a&b=c=d&=e')).toEqual([
      { name: 'a', value: '' },
      { name: 'b', value: 'c=d' },
      { name: '', value: 'e' },
    ]);
  });

  it('decodes names too', () => {
    expect(parseUrlEncoded('p%61ge=%31')).toEqual([{ name: 'page', value: '1' }]);
  });
});

describe('decode', () => {
  it.each([
    ['a+b%20c', 'a b c'],
    ['Jos%C3%A9', 'José'],
    ['%F0%9F%8D%95', '🍕'],
    ['%00', '\0'],
    ['%2B', '+'],
  ])('reads %s', (text, expected) => expect(decode(text)).toBe(expected));

  it.each(['%', '%4', '%zz', '%C3', '%ff', '%ED%A0%80', '%C0%80', 'é', 'Ã©', '\t'])('refuses %j', (text) =>
    expect(decode(text)).toBeNull(),
  );
});
