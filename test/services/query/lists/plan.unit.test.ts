import { describe, expect, it } from 'vitest';
import type { Stamp } from '#shared/read-models/collections.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import {
  type ListStrategy,
  planList,
  conditionsOf,
  inOrderOf,
  listRequest,
  type Wanted,
} from '#query/lists/plan.ts';
import { searchTerms } from '#query/lists/search.ts';

const ORDERS: Wanted & { entity: 'order' } = {
  ...inOrderOf(RANK_TREES.order),
  entity: 'order',
  createdKey: 'rank_key',
};
const CUSTOMERS: Wanted & { entity: 'customer' } = {
  ...inOrderOf(RANK_TREES.customer),
  entity: 'customer',
};
const PRODUCTS: Wanted & { entity: 'product' } = {
  entity: 'product',
  sort: { position: 1 },
  sortKeyStages: [{ $set: {} }],
};
const COUPONS: Wanted & { entity: 'coupon' } = {
  entity: 'coupon',
  sort: { created_at: -1, _id: 1 },
};

const created = { created: () => ({ from: 'a', to: 'b' }) };
const updated = { updated: () => ({ updated_at: { $gte: new Date(0) } }) };
const search = { search: searchTerms('silva') };
const pending = { facets: ['pending'] };
const DEEP = 1_000;

interface Known {
  redactErased?: boolean;
  stamp?: Stamp;
}

const NONE: Known = {};
const STAMP = { _id: 's1', store_id: 's1' };
const SMALL: Known = { stamp: STAMP };
const LARGE: Known = {
  stamp: { ...STAMP, ranks: { order: { levels: 1 }, customer: { levels: 1 } } },
};

type Row = [what: string, request: object, page: number, known: Known, plan: ListStrategy[]];

const ROWS: Row[] = [
  ['the first page', ORDERS, 1, NONE, ['shared-first-page', 'scan-first-pages']],
  ['the first page during an erasure', ORDERS, 1, { redactErased: true }, ['scan-first-pages']],
  ['the second page', ORDERS, 2, NONE, ['scan-first-pages']],
  ['the first page of a short list', COUPONS, 1, NONE, ['shared-first-page', 'scan-first-pages']],
  ['any page of a short list', COUPONS, DEEP, NONE, ['scan-first-pages']],
  ['a short list by a field', { ...COUPONS, where: { active: true } }, 1, NONE, ['scan']],
  ['a short list by creation', { ...COUPONS, ...created }, 1, NONE, ['scan']],
  ['a deep page', ORDERS, DEEP, LARGE, ['rank-tree']],
  ['a deep page of an unknown store', ORDERS, DEEP, NONE, ['rank-tree']],
  ['a deep page of a small store', ORDERS, DEEP, SMALL, ['scan-tree-order']],
  ['a facet', { ...ORDERS, ...pending }, 1, LARGE, ['scan-first-pages']],
  ['a deep page of a facet', { ...ORDERS, ...pending }, DEEP, LARGE, ['rank-tree']],
  ['a range', { ...ORDERS, ...created }, 1, LARGE, ['scan-if-small', 'rank-tree']],
  ['a range of a small store', { ...ORDERS, ...created }, 1, SMALL, ['scan-tree-order']],
  [
    'a facet in a range of a small store',
    { ...ORDERS, ...created, ...pending },
    1,
    SMALL,
    ['scan-if-shown', 'scan-tree-order'],
  ],
  ['a deep page of a range', { ...ORDERS, ...created }, DEEP, LARGE, ['rank-tree']],
  ['what was updated', { ...ORDERS, ...updated }, 1, LARGE, ['updated-window', 'updated-in-long']],
  [
    'what was updated among few',
    { ...ORDERS, ...pending, ...updated },
    1,
    LARGE,
    ['updated-among-few', 'updated-window', 'updated-in-long'],
  ],
  [
    'what was updated among many',
    { ...ORDERS, ...pending, ...updated },
    1,
    { stamp: { ...STAMP, ranks: { order: { levels: 1, counts: { pending: 2_001 } } } } },
    ['updated-window', 'updated-in-long'],
  ],
  [
    'what was created and updated',
    { ...ORDERS, ...created, ...updated },
    1,
    LARGE,
    ['updated-among-few', 'updated-window', 'updated-in-long'],
  ],
  [
    'customers that were created and updated',
    { ...CUSTOMERS, ...created, ...updated },
    1,
    LARGE,
    ['updated-window', 'created-window', 'updated-in-long'],
  ],
  [
    'products of a category that were updated',
    {
      ...PRODUCTS,
      sortKeyStages: [],
      where: { category_id: 'k' },
      selectiveIndex: 'by_category',
      ...updated,
    },
    1,
    NONE,
    ['updated-among-few', 'updated-window', 'updated-in-long'],
  ],
  [
    "one customer's orders",
    { ...ORDERS, where: { customer_id: 'c' }, selectiveIndex: 'by_customer' },
    1,
    LARGE,
    ['scan-if-shown', 'scan'],
  ],
  [
    "one customer's orders that were updated",
    { ...ORDERS, ...updated, where: { customer_id: 'c' }, selectiveIndex: 'by_customer' },
    1,
    LARGE,
    ['updated-among-few', 'updated-window', 'updated-in-long'],
  ],
  ['customers by name', { ...CUSTOMERS, ...search }, 1, LARGE, ['search-leaves', 'scan']],
  [
    'customers by name of an unknown store',
    { ...CUSTOMERS, ...search },
    1,
    NONE,
    ['search-leaves', 'scan'],
  ],
  [
    'customers by name of a small store',
    { ...CUSTOMERS, ...search },
    1,
    SMALL,
    ['scan-if-shown', 'scan'],
  ],
  ['more customers by name of a small store', { ...CUSTOMERS, ...search }, 2, SMALL, ['scan']],
  [
    'customers by name and creation',
    { ...CUSTOMERS, ...search, ...created },
    1,
    LARGE,
    ['created-window', 'scan'],
  ],
  [
    'customers by name that were updated',
    { ...CUSTOMERS, ...search, ...updated },
    1,
    LARGE,
    ['updated-window', 'updated-in-long'],
  ],
  [
    'customers by creation',
    { ...CUSTOMERS, ...created },
    1,
    LARGE,
    ['created-within-leaf', 'created-by-name'],
  ],
  ['products', PRODUCTS, 1, NONE, ['layout']],
  ['any page of products', PRODUCTS, DEEP, NONE, ['layout']],
  [
    'products that were updated',
    { ...PRODUCTS, ...updated },
    1,
    NONE,
    ['updated-window', 'layout-updated'],
  ],
];

describe('the plan of a list', () => {
  it.each(ROWS)('%s', (_what, request, page, { redactErased = false, stamp }, plan) => {
    const asked = listRequest({ ...(request as typeof ORDERS), page, pageSize: 20 });
    const conditions = conditionsOf('s1', asked, (local) => local);
    expect(planList(asked, { conditions, stamp: stamp ?? null, redactErased })).toEqual(plan);
  });
});
