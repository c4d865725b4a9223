import { describe, expect, it } from 'vitest';
import { etagOf, type EtagSource } from '#query/responses/etag.ts';

const source: EtagSource = {
  path: '/api/order/list',
  parameters: { page: 1 },
  storeId: 's1',
  dependsOn: ['order'],
  marker: { id: 'm1', projection_version: 1 } as EtagSource['marker'],
};
const stamp = {
  _id: 's1',
  store_id: 's1',
  timezone_offset: '-03:00',
  order: 7,
  customer: 3,
  store: 1,
};

describe('etagOf', () => {
  it.each([
    ['path', { path: '/api/customer/order-list/' }],
    ['parameters', { parameters: { page: 2 } }],
    ['store', { storeId: 's2' }],
    ['generation', { marker: { ...source.marker, id: 'm2' } }],
    ['projection version', { marker: { ...source.marker, projection_version: 2 } }],
  ])('changes with the %s', (_what, change) => {
    expect(etagOf({ ...source, ...change }, stamp)).not.toBe(etagOf(source, stamp));
  });

  it('depends on the answer’s kinds of records and the offset, not on other kinds', () => {
    expect(etagOf(source, { ...stamp, order: 8 })).not.toBe(etagOf(source, stamp));
    expect(etagOf(source, { ...stamp, timezone_offset: '-04:00' })).not.toBe(etagOf(source, stamp));
    expect(etagOf(source, { ...stamp, customer: 4 })).toBe(etagOf(source, stamp));
  });

  it.each([
    ['the same number of events', 4, 'a', 'customer'],
    // An event of a customer comes first.
    ['the deletion of a customer', 12, 'c', 'coupon'],
  ] as const)(
    'changes where %s was counted again after a restored backup, and only for their records',
    (...row) => {
      const [, customer, from, unconcerned] = row;
      const before = {
        ...stamp,
        positions: { order: 10, customer },
        epochs: `aaaaaaaa:1,bbbbbbbb:${from}`,
      };
      const restored = { ...before, epochs: `aaaaaaaa:1,cccccccc:${from}` };
      const others: EtagSource = { ...source, dependsOn: [unconcerned] };
      expect(etagOf(source, restored)).not.toBe(etagOf(source, before));
      expect(etagOf(others, restored)).toBe(etagOf(others, before));
    },
  );
});
