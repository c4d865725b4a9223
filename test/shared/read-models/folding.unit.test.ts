import { describe, expect, it } from 'vitest';
import { alphanumericOf, digitsOf, foldName } from '#shared/read-models/search-texts.ts';

describe('folding', () => {
  it('drops accents and letter case of names', () => {
    expect(foldName('José da CONCEIÇÃO')).toBe('jose da conceicao');
    expect(foldName('ﾃİÖŽ')).toBe('ﾃioz');
    expect(foldName('')).toBe('');
  });

  it('reduces documents and phones to what is compared', () => {
    expect(digitsOf('+55 (11) 99999-0000')).toBe('5511999990000');
    expect(alphanumericOf('12.ABC.345/01DE-35')).toBe('12abc34501de35');
  });
});
