/**
 * Random questions for every list, and every record of random streams, each with the model's
 * answer.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { CAMPAIGN_STATUSES } from '#shared/records/campaign.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { ORDER_TYPES } from '#shared/records/store.ts';
import { TEXT } from './complete-states.ts';
import type { Envelope, ListQuery, Model } from './model.ts';
import { STREAM_IDS, STREAM_STORES } from './streams.ts';
import { words } from './words.ts';

/** Absent in `absences` of ten cases. */
function maybe<T>(arbitrary: fc.Arbitrary<T>, absences: number): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: absences, arbitrary: fc.constant(undefined) },
    { weight: 10 - absences, arbitrary },
  );
}

/** Near the seconds of the stream, in the offsets of its stores. */
const local = fc
  .record({
    day: fc.integer({ min: 1, max: 4 }),
    time: fc.constantFrom('23:59', '23:59', '23:59', '22:59', '00:59', '08:29'),
    second: fc.integer({ min: 56, max: 59 }),
  })
  .map(({ day, time, second }) => `2026-03-0${day}T${time}:${second}`);
const range = fc
  .tuple(maybe(local, 3), maybe(local, 3))
  .map(([a, b]) => (a !== undefined && b !== undefined && a > b ? [b, a] : [a, b]));
const ranges = fc.tuple(maybe(range, 5), maybe(range, 8)).map(([created, updated]) => ({
  created_from: created?.[0],
  created_to: created?.[1],
  updated_from: updated?.[0],
  updated_to: updated?.[1],
}));
const paging = {
  page: maybe(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 12 })), 6),
  page_size: maybe(fc.constantFrom(1, 2, 3, 7, 100, 101), 4),
};
const some = (values: readonly string[]) =>
  maybe(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 4 }), 7);

/** Searches of customers; marks of direction and dashes come with pasted numbers. */
export const SEARCHES = [
  ...`jose|JOSÉ|ana|a| silva |.*|(2)|o'n|987|(11) 9|9-09|12abc|12.ABC|x1|𝒜|ﬁ|İ|i|ß|한|a\u0323|b\\c|👩|σας|e`.split(
    '|',
  ),
  ...'łuk|\u0301|\\|\0|+55/1|\u{202a}9-09\u{202c}|9\u{2011}09|\u{2068}11 98\u{2069}|\u{202a}|345|abc|-|c1|ana c|😀'.split(
    '|',
  ),
];
const customerQuery = fc
  .tuple(fc.record({ ...paging, search: maybe(fc.constantFrom(...SEARCHES), 4) }), ranges)
  .map(([query, bounds]): ListQuery => defined({ ...query, ...bounds }));
const orderQuery = fc
  .tuple(
    fc.record({ ...paging, status: some(ORDER_STATUSES), order_type: some(ORDER_TYPES) }),
    ranges,
  )
  .map(([query, bounds]): ListQuery => defined({ ...query, ...bounds }));
const customerOrderQuery = fc
  .tuple(orderQuery, maybe(fc.constantFrom('c1', 'c2', 'C_4', 'nobody'), 6))
  .map(([query, customer]): ListQuery => defined({ ...query, customer_id: customer }));

interface OpenApi {
  paths: Record<string, { get: { parameters: { name?: string; schema?: Schema }[] } }>;
  components: { schemas: Record<string, Schema> };
}
interface Schema {
  $ref?: string;
  type?: string;
  enum?: string[];
  items?: Schema;
}

const openApi = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as OpenApi;

/** The filters of a list that its questions do not name: by words of closed lists, or by a text. */
function otherFilters(path: string): Record<string, fc.Arbitrary<unknown>> {
  const found = openApi.paths[path]?.get.parameters ?? [];
  const others = found.flatMap(({ name = '', schema = {} }) => {
    if (schema.type === undefined || NAMED.has(name)) return [];
    const { items = schema } = schema;
    const { enum: values = [TEXT] } =
      openApi.components.schemas[items.$ref?.split('/').at(-1) ?? ''] ?? items;
    const arbitrary =
      schema.items === undefined ? maybe(fc.constantFrom(...values), 8) : some(values);
    return [[name, arbitrary] as const];
  });
  return Object.fromEntries(others);
}

const NAMED = new Set(
  words(
    'page page_size search status order_type rating active category_id customer_id',
    'created_from created_to updated_from updated_to',
  ),
);

/** A request for a list of one store. */
export type Question = { path: ListPath; query: ListQuery; storeId: string };

type AnswerOf = (model: Model, store: string, query: ListQuery) => Envelope;
const of =
  (kind: string): AnswerOf =>
  (model, store, query) =>
    model.list(kind, store, query);

/** Every list, with its possible parameters and the model's answer. */
export const lists = {
  '/api/customer/list': [customerQuery, of('customer')],
  '/api/order/list': [orderQuery, of('order')],
  '/api/customer/order-list/': [
    customerOrderQuery,
    (model, store, query) => model.customerOrders(store, query),
  ],
  '/api/coupon/list': [fc.record({ ...paging, active: maybe(fc.boolean(), 5) }), of('coupon')],
  '/api/review/list': [
    fc
      .tuple(
        fc.record({
          ...paging,
          rating: maybe(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), 5),
        }),
        ranges,
      )
      .map(([query, { created_from, created_to }]) => ({ ...query, created_from, created_to })),
    of('review'),
  ],
  '/api/campaign/list': [fc.record({ ...paging, status: some(CAMPAIGN_STATUSES) }), of('campaign')],
  '/api/category/list': [fc.record(paging), of('category')],
  '/api/product/list': [
    fc
      .tuple(
        fc.record({
          ...paging,
          category_id: maybe(fc.constantFrom('k1', 'k2', 'nowhere', 'k9'), 6),
        }),
        ranges,
      )
      .map(([query, { updated_from, updated_to }]) => ({ ...query, updated_from, updated_to })),
    of('product'),
  ],
  '/api/option-group/list': [fc.record(paging), of('option_group')],
} satisfies Record<string, [fc.Arbitrary<ListQuery>, AnswerOf]>;
export type ListPath = keyof typeof lists;

/** An arbitrary question about any list. */
export const question: fc.Arbitrary<Question> = fc
  .constantFrom(...(Object.keys(lists) as ListPath[]))
  .chain((path) =>
    fc.record({
      path: fc.constant(path),
      query: fc
        .tuple(lists[path][0], fc.record(otherFilters(path)))
        .map(([query, others]): ListQuery => defined({ ...query, ...others })),
      storeId: fc.constantFrom(...STREAM_STORES),
    }),
  );

/** Every details endpoint, with the ids in streams and the model's answer. */
export const records = (
  ['order', 'coupon', 'review', 'campaign', 'category', 'product'] as const
).map((kind) => ({
  path: `/api/${kind}/details/?${kind}_id=`,
  ids: STREAM_IDS[kind],
  answer: (model: Model, store: string, id: string) => model.record(kind, store, id),
}));

function defined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;
}

export function target({ path, query }: Question): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}
