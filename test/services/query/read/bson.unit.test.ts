import { Binary, BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { decodeDocument, decodeFirstBatch, type KnownRow } from '#query/read/bson.ts';

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
  const batch = (id: number) =>
    BSON.serialize({ firstBatch: [{ a: 1 }], id: Long.fromNumber(id), ns: 'a.b' });
  expect(decodeFirstBatch(batch(0), null)).toEqual([{ a: 1 }]);
  expect(decodeFirstBatch(batch(77), null)).toBeNull();
});

it("a store's row is the one that was read before while no byte of it is another; records are read each time", () => {
  const known = new Map<string, KnownRow>();
  const read = (order: number) => {
    const firstBatch = [{ summary: '{}' }, { _id: 's1', order }, { _id: 's1/o1', order: 1 }];
    const cursor = BSON.serialize({ firstBatch, id: BSON.Long.fromNumber(0), ns: 'a.b' });
    const rows = decodeFirstBatch(cursor, known) ?? [];
    expect(rows).toEqual(firstBatch);
    return rows;
  };
  const [, stamp, record] = read(1);
  const [, again, recordAgain] = read(1);
  expect(again).toBe(stamp);
  expect(recordAgain).not.toBe(record);
  const [, changed] = read(2);
  expect(changed).not.toBe(stamp);
  expect([...known.keys()]).toEqual(['s1']);
});
