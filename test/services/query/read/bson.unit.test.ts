import { Binary, BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { decodeDocument, decodeFirstBatch } from '#query/read/bson.ts';

const DOCUMENT = {
  _id: 's1/ç1',
  count: 3,
  large: 9_007_199_254_740_991,
  ratio: 0.5,
  before_1970: new Date(-1),
  absent: null,
  flag: false,
  counts: new Binary(Uint8Array.of(1, 0, 255)),
  nested: { list: ['ã', { name: 'é' }], empty: {} },
};

describe('decodeDocument', () => {
  it('reads what documents of read models hold', () => {
    const { counts, ...others } = decodeDocument(BSON.serialize(DOCUMENT));
    const { counts: expected, ...rest } = DOCUMENT;
    expect(others).toEqual(rest);
    expect([...(counts as Binary).buffer]).toEqual([...expected.buffer]);
  });

  it('leaves finished JSON as its bytes', () => {
    const summary = '{"name":"João"}';
    const bytes = Buffer.from(summary).toString('latin1');
    const stored = BSON.serialize({ _id: 'ç', summary, nested: [{ summary }] });
    expect(decodeDocument(stored)).toEqual({ _id: 'ç', summary: bytes, nested: [{ summary: bytes }] });
  });

  it('refuses a type that no document of ours holds', () => {
    expect(() => decodeDocument(BSON.serialize({ pattern: /a/ }))).toThrow(/type 11/);
  });
});

it('a first batch that is not all is left to a cursor', () => {
  const { Long } = BSON;
  const batch = (id: number) => BSON.serialize({ firstBatch: [{ a: 1 }], id: Long.fromNumber(id), ns: 'a.b' });
  expect(decodeFirstBatch(batch(0), null)).toEqual([{ a: 1 }]);
  expect(decodeFirstBatch(batch(77), null)).toBeNull();
});
