/**
 * Windows of time, alone and with all other filters, over more records than are ever filtered at
 * once: counts and pages of the model.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { ORDER_TYPES } from '#shared/records/store.ts';
import { MAX_FILTERED } from '#query/lists/windows.ts';
import { aCategory, aCustomer, anOrder, aProduct } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { Model } from '#test/model.ts';
import { profiled } from '#test/profiled.ts';
import { answerTo, queryOf, target } from '#test/questions.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const RECORDS = MAX_FILTERED + 600;
/** Seconds in which everything was created or updated. */
const SPAN = 20_000;
const SEED = 46;
const QUESTIONS = 40;

afterAll(withSmallTrees(64, 8));
const service = useQueryService();
const model = new Model();

/** So many seconds after a midnight, in local time or as an instant. */
const local = (second: number) =>
  new Date(Date.UTC(2026, 2, 1) + second * 1_000).toISOString().slice(0, 19);
const instant = (second: number) =>
  `${local(second)}.${String(second % 1_000).padStart(3, '0')}-03:00`;

/** Of most orders, and of most products. */
const often = <T>(common: T, others: readonly T[]) =>
  fc.oneof(
    { weight: 7, arbitrary: fc.constant(common) },
    { weight: 3, arbitrary: fc.constantFrom(...others) },
  );
const second = fc.integer({ min: 0, max: SPAN });
/** Records with two times. */
const dated = <T extends object>(fields: fc.Arbitrary<T>) =>
  fc.tuple(fields, second, second).map(([own, created, updated]) => ({
    ...own,
    created_at: instant(created),
    updated_at: instant(updated),
  }));
const order = dated(
  fc.record({
    status: often<string>('delivered', ORDER_STATUSES),
    order_type: often<string>('delivery', ORDER_TYPES),
    customer: often<object | undefined>({ id: 'walk-in' }, [{ id: 'c1' }, { id: 'c2' }, undefined]),
  }),
);
const customer = dated(fc.record({ name: fc.constantFrom('Ana', 'ana lima', 'Bruna', 'Zoë') }));
const product = dated(
  fc.record({
    category_id: often<string | null>('k1', ['k2', 'k3', 'nowhere', null]),
    position: fc.nat(5),
  }),
);
const sampled = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.sample(arbitrary, { numRuns: RECORDS, seed: SEED });

beforeAll(async () => {
  const changes = [
    ...['k1', 'k2', 'k3'].map((id, index) => aCategory(id, { position: index % 2 })),
    ...sampled(order).map((data, index) => anOrder(`o${index}`, data)),
    ...sampled(customer).map((data, index) => aCustomer(`c${index}`, data)),
    ...sampled(product).map((data, index) => aProduct(`p${index}`, data)),
  ];
  await service.apply(changes);
  for (const [sequence, { id: subject, ...change }] of changes.entries()) {
    model.apply({ ...change, subject, sequence, action: 'changed' });
  }
});

const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** Wide ones, of all records too, and narrow ones. */
const window = fc
  .tuple(second, fc.oneof(fc.constantFrom(0, 60, 600), second))
  .map(([from, length]) => [local(from), local(from + length)] as const);
const windows = fc
  .tuple(some(window), some(window), fc.boolean())
  .map(([created, updated, isAll]) => ({
    created_from: created?.[0],
    created_to: created?.[1],
    updated_from: isAll ? local(0) : updated?.[0],
    updated_to: isAll ? undefined : updated?.[1],
  }));
const several = (values: readonly string[]) =>
  some(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }));

const FILTERS = {
  page: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60 })),
  page_size: fc.constantFrom(7, 20, 100),
  status: several(ORDER_STATUSES),
  order_type: several(ORDER_TYPES),
  customer_id: some(fc.constantFrom('walk-in', 'walk-in', 'c1', 'nobody')),
  search: some(fc.constantFrom('ana', 'lima', 'zoe')),
  category_id: some(fc.constantFrom('k1', 'k3', 'nowhere')),
};

it.each([
  '/api/order/list',
  '/api/customer/order-list/',
  '/api/customer/list',
  '/api/product/list',
])('%s has the counts and pages of the model', async (path) => {
  let found = 0;
  const asked = fc.asyncProperty(queryOf(path, FILTERS, windows), async (query) => {
    const question = { path, query, storeId: 's1' };
    const answer = await service.list(target(question));
    expect(answer).toEqual(answerTo(question, model));
    found += answer.results.length;
  });
  await fc.assert(asked, { numRuns: QUESTIONS, seed: SEED });
  // Questions without results compare little.
  expect(found).toBeGreaterThan(QUESTIONS);
});

const SINCE = `updated_from=${local(0)}`;

/**
 * A first page is tried with one record more before all are counted; what is filtered is counted
 * too.
 */
const twice = (records: number) => records * 2 + 5;
const OF_A_CUSTOMER = '/api/customer/order-list/?customer_id=';

it.each([
  [`/api/order/list?${SINCE}&status=pending&order_type=indoor`, twice],
  [`${OF_A_CUSTOMER}c1&${SINCE}&status=pending`, twice],
  [`${OF_A_CUSTOMER}walk-in&page=40`, () => twice(20)],
  [`${OF_A_CUSTOMER}walk-in&status=pending`, () => twice(20)],
  [`${OF_A_CUSTOMER}walk-in&status=delivered&page=40`, () => twice(20)],
  [`/api/order/list?${SINCE}`, () => MAX_FILTERED + twice(20)],
])('%s is counted without reading the records', async (path, allowed) => {
  const list = () => service.list(path);
  const { count } = await list();
  const reads = await profiled(service.installation, [COLLECTIONS.order], list);
  const documents = reads.reduce((sum, { docsExamined }) => sum + Number(docsExamined), 0);
  expect(documents).toBeLessThanOrEqual(allowed(count));
  // MongoDB ends them, too, when they are late.
  for (const { command } of reads) expect(command).toHaveProperty('maxTimeMS');
});
