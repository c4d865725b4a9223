import { describe, expect, it } from 'vitest';
import type { Stamp } from '#shared/read-models/collections.ts';
import { LISTS } from '#query/lists/lists.ts';
import { conditionsOf, queryOf, type Wanted } from '#query/lists/request.ts';
import { orderFilters } from '#query/parameters/filters.ts';
import {
  flag,
  oneOf,
  ofField,
  optional,
  type Parameter,
  repeatable,
} from '#query/parameters/parameter.ts';
import { Text } from '#shared/records/answer.ts';
import type { Fields } from '#shared/records/field.ts';
import { RECORDS } from '#shared/records/records.ts';
import { searchTerms } from '#query/lists/search-terms.ts';

const created = { created_from: 0 };
const updated = { updated_from: 0 };
const search = searchTerms('silva');
const ORDERS = { list: LISTS.order };
const PENDING = { list: LISTS.order, facets: ['pending'] };
const OF_CUSTOMER = { list: LISTS.ordersOfCustomer, where: { customer_id: 'c' } };
const CUSTOMERS = { list: LISTS.customer };
const PRODUCTS = { list: LISTS.product };
const OF_CATEGORY = { list: LISTS.productsOfCategory, where: { category_id: 'k' } };
const COUPONS = { list: LISTS.coupon };
const DEEP = 1_000;

const STAMP = { _id: 's1', store_id: 's1' };
const SMALL = STAMP;
const LARGE = { ...STAMP, ranks: { order: { levels: 1 }, customer: { levels: 1 } } };
const MANY_PENDING = {
  ...STAMP,
  ranks: { order: { levels: 1, counts: { pending: 2_001 } } },
};

type Row = [what: string, wanted: Wanted, page: number, stamp: Stamp | null, names: string];

const ROWS: Row[] = [
  ['the first page', ORDERS, 1, null, 'shared-first-page first-pages rank-tree'],
  ['the second page', ORDERS, 2, null, 'first-pages rank-tree'],
  ['the first page of a short list', COUPONS, 1, null, 'shared-first-page'],
  ['any page of a short list', COUPONS, DEEP, null, ''],
  ['a short list by a field', { ...COUPONS, where: { active: true } }, 1, null, ''],
  ['a deep page', ORDERS, DEEP, LARGE, 'rank-tree'],
  ['a deep page of an unknown store', ORDERS, DEEP, null, 'rank-tree'],
  ['a deep page of a small store', ORDERS, DEEP, SMALL, ''],
  ['a facet', PENDING, 1, LARGE, 'first-pages rank-tree'],
  ['a deep page of a facet', PENDING, DEEP, LARGE, 'rank-tree'],
  ['a range', { ...ORDERS, bounds: created }, 1, LARGE, 'scan-if-small rank-tree'],
  ['a range of a small store', { ...ORDERS, bounds: created }, 1, SMALL, ''],
  [
    'a facet in a range of a small store',
    { ...PENDING, bounds: created },
    1,
    SMALL,
    'scan-if-shown',
  ],
  ['a deep page of a range', { ...ORDERS, bounds: created }, DEEP, LARGE, 'rank-tree'],
  ['orders by another field', { ...ORDERS, where: { notes: 'x' } }, 1, LARGE, ''],
  ['what was updated', { ...ORDERS, bounds: updated }, 1, LARGE, 'updated-window updated-in-long'],
  [
    'what was updated among few',
    { ...PENDING, bounds: updated },
    1,
    LARGE,
    'updated-among-few updated-window updated-in-long',
  ],
  [
    'what was updated among many',
    { ...PENDING, bounds: updated },
    1,
    MANY_PENDING,
    'updated-window updated-in-long',
  ],
  [
    'what was created and updated',
    { ...ORDERS, bounds: { ...created, ...updated } },
    1,
    LARGE,
    'updated-among-few updated-window updated-in-long',
  ],
  [
    'customers that were created and updated',
    { ...CUSTOMERS, bounds: { ...created, ...updated } },
    1,
    LARGE,
    'updated-window created-window updated-in-long',
  ],
  [
    'products of a category that were updated',
    { ...OF_CATEGORY, bounds: updated },
    1,
    null,
    'updated-among-few updated-window',
  ],
  ["one customer's orders", OF_CUSTOMER, 1, LARGE, 'scan-if-shown'],
  ["more of one customer's orders", OF_CUSTOMER, 2, LARGE, ''],
  [
    "one customer's orders that were updated",
    { ...OF_CUSTOMER, bounds: updated },
    1,
    LARGE,
    'updated-among-few updated-window updated-in-long',
  ],
  ['customers by name', { ...CUSTOMERS, search }, 1, LARGE, 'search-leaves'],
  ['customers by name of an unknown store', { ...CUSTOMERS, search }, 1, null, 'search-leaves'],
  ['customers by name of a small store', { ...CUSTOMERS, search }, 1, SMALL, 'scan-if-shown'],
  ['more customers by name of a small store', { ...CUSTOMERS, search }, 2, SMALL, ''],
  [
    'customers by name and creation',
    { ...CUSTOMERS, search, bounds: created },
    1,
    LARGE,
    'created-window',
  ],
  [
    'customers by name that were updated',
    { ...CUSTOMERS, search, bounds: updated },
    1,
    LARGE,
    'updated-window updated-in-long',
  ],
  [
    'customers by creation',
    { ...CUSTOMERS, bounds: created },
    1,
    LARGE,
    'created-window created-by-name',
  ],
  ['all products', PRODUCTS, DEEP, null, 'cached-layout own-layout'],
  [
    'all products that were updated',
    { ...PRODUCTS, bounds: updated },
    DEEP,
    null,
    'updated-window layout-updated',
  ],
  ['all products by another field', { ...PRODUCTS, where: { ean: '1' } }, 1, null, ''],
];

it('a filter of a stored field is a condition on it, if it is given', () => {
  const words = ['a', 'b'] as const;
  const filters = {
    status: ofField('status', repeatable(oneOf(words, Text), { description: '' })),
    on: ofField('active', optional(flag, { description: '' })),
    other: optional(flag, { description: '' }),
  };
  const none = { status: [], on: null, other: true };
  expect(conditionsOf(filters, none)).toBeNull();
  expect(conditionsOf(filters, { ...none, on: false })).toEqual({ active: false });
  expect(conditionsOf(filters, { ...none, status: words })).toEqual({ status: { $in: words } });
});

it('each filter of orders by a field has `filtered` around that field in shared/records/order.ts', () => {
  const { fields, more } = RECORDS.order;
  const all: Fields = { ...fields, ...more };
  const named = Object.values<Parameter<unknown>>(orderFilters).flatMap(({ field = [] }) => field);
  expect(named.filter((field) => !all[field]?.isFilter)).toEqual([]);
});

describe('the strategies that suit', () => {
  it.each(ROWS)('%s', (_what, wanted, page, stamp, names) => {
    const query = queryOf({ ...wanted, page, pageSize: 20 }, 's1', stamp);
    const suiting = query.list.strategies.filter(({ suits }) => suits(query));
    // All matches are scanned and counted if the others give up.
    expect(suiting.map(({ name }) => name).join(' ')).toBe(`${names} scan`.trim());
  });
});
