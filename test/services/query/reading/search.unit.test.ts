import { describe, expect, it } from 'vitest';
import { escapePattern, searchFilter } from '#query/reading/search.ts';

const fields = (text: string) => {
  const parts = searchFilter(text)['$or'] as Record<string, { $regex: string }>[];
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part).map(([k, v]) => [k, v.$regex])));
};

describe('searchFilter', () => {
  it.each([
    ['José', { name_key: 'jose' }],
    ['123', { name_key: '123', document_digits: '123', phone_digits: '123' }],
    [
      '+55 (11) 9-8.7/6',
      { name_key: '\\+55 \\(11\\) 9-8\\.7/6', document_digits: '55119876', phone_digits: '55119876' },
    ],
    ['12.ABC.345/01', { name_key: '12\\.abc\\.345/01', document_key: '12abc34501' }],
    ['+-./()', { name_key: '\\+-\\./\\(\\)' }],
    ['11_2', { name_key: '11_2' }],
    ['a.*', { name_key: 'a\\.\\*' }],
  ])('%s', (text, expected) => expect(fields(text)).toEqual(expected));
});

describe('escapePattern', () => {
  it('makes every character stand for itself', () => {
    const all = String.fromCodePoint(...Array.from({ length: 127 }, (_, index) => index + 1));
    expect(new RegExp(`^${escapePattern(all)}$`, 'u').test(all)).toBe(true);
  });

  it('holds no NUL, which would end a pattern', () => {
    expect(escapePattern('a\0b')).toBe('a\\x00b');
  });
});
