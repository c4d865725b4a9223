import { Binary, BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { decodeDocument, decodeFirstBatch } from '#query/read/bson.ts';

const DOCUMENT = {
  _id: 's1/ç1',
  summary: '{"name":"João"}',
  count: 3,
  large: 9_007_199_254_740_991,
  ratio: 0.5,
  before_1970: new Date(-1),
  absent: null,
  flag: false,
  counts: new Binary(Uint8Array.of(1, 0, 255)),
  nested: { list: ['ã', { summary: 'é' }], empty: {} },
};

describe('decodeDocument', () => {
  it('reads what documents of read models hold', () => {
    const { counts, ...others } = decodeDocument(BSON.serialize(DOCUMENT), 'utf8');
    const { counts: expected, ...rest } = DOCUMENT;
    expect(others).toEqual(rest);
    expect([...(counts as Binary).buffer]).toEqual([...expected.buffer]);
  });

  it('leaves finished JSON as its bytes', () => {
    const { _id, summary, nested } = decodeDocument(BSON.serialize(DOCUMENT), 'latin1');
    expect(_id).toBe(DOCUMENT._id);
    expect(Buffer.from(String(summary), 'latin1').toString()).toBe(DOCUMENT.summary);
    expect(nested).toEqual({ list: ['ã', { summary: Buffer.from('é').toString('latin1') }], empty: {} });
  });

  it('refuses a type that no document of ours holds', () => {
    expect(() => decodeDocument(BSON.serialize({ pattern: /a/ }), 'utf8')).toThrow(/type 11/);
  });
});

it('a first batch that is not all is left to a cursor', () => {
  const { Long } = BSON;
  const batch = (id: number) =>
    BSON.serialize({ firstBatch: [{ a: 1 }], id: Long.fromNumber(id), ns: 'a.b' });
  expect(decodeFirstBatch(batch(0), 'latin1')).toEqual([{ a: 1 }]);
  expect(decodeFirstBatch(batch(77), 'latin1')).toBeNull();
});
