import { describe, expect, it } from 'vitest';
import { escapePattern, searchFilter, searchTerms } from '#query/lists/search.ts';

describe('searchTerms', () => {
  it.each([
    ['José', { name: 'jose', digits: null, key: null }],
    ['123', { name: '123', digits: '123', key: null }],
    ['+55 (11) 9-8.7/6', { name: '+55 (11) 9-8.7/6', digits: '55119876', key: null }],
    ['12.ABC.345/01', { name: '12.abc.345/01', digits: null, key: '12abc34501' }],
    ['+-./()', { name: '+-./()', digits: null, key: null }],
    ['11_2', { name: '11_2', digits: null, key: null }],
    ['a\0b', { name: null, digits: null, key: null }],
  ])('%j', (text, expected) => expect(searchTerms(text)).toEqual(expected));

  it('finds nothing that could differ in a lone accent', () => {
    expect(searchTerms('\u0301')).toBeNull();
  });
});

describe('the filter of customers', () => {
  const customer = {
    rank_key: 'jose da silva\0c12-silva',
    document_digits: '1234501',
    document_key: '12abc34501',
    phone_digits: '5511987654321',
  };
  const matches = (text: string) => {
    const terms = searchTerms(text);
    if (terms === null) return true;
    const fields = searchFilter(terms)['$or'] as Record<string, { $regex: string }>[];
    return fields.some((field) =>
      Object.entries(field).some(([name, { $regex }]) =>
        new RegExp($regex, 's').test(customer[name as keyof typeof customer]),
      ),
    );
  };

  it.each(['JOSÉ', 'e da s', '(11) 98', '45.01', '12.abc', '\u0301'])('%s', (text) => {
    expect(matches(text)).toBe(true);
  });

  it.each(['c12-silva', '5512', 'abc', '12abd', 'silva c', 'a.*'])('not %j', (text) => {
    expect(matches(text)).toBe(false);
  });

  it('lets nobody through for a text that no name, document or phone can hold', () => {
    expect(searchFilter({ name: null, digits: null, key: null })).toEqual({ _id: { $in: [] } });
    expect(searchTerms('jose\0')).toEqual({ name: null, digits: null, key: null });
  });
});

describe('escapePattern', () => {
  it('makes every character stand for itself', () => {
    const all = String.fromCodePoint(...Array.from({ length: 127 }, (_, index) => index + 1));
    expect(new RegExp(`^${escapePattern(all)}$`, 'u').test(all)).toBe(true);
  });
});
