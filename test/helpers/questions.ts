/**
 * Random questions for every list, and every record of random streams, each with the model's
 * answer.
 */
import fc from 'fast-check';
import { TEXT } from './complete-states.ts';
import { type Declared, declaredFor, PATHS, wordsOf } from './declared-parameters.ts';
import type { Envelope, ListQuery, Model } from './model.ts';
import { STREAM_IDS, STREAM_STORES } from './streams.ts';

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
const RANGES = [
  ['created_from', 'created_to'],
  ['updated_from', 'updated_to'],
] as const;
/** The values of filters, by name; others have the words of their closed list, or a text. */
const FILTERS: Record<string, fc.Arbitrary<unknown>> = {
  page: maybe(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 12 })), 6),
  page_size: maybe(fc.constantFrom(1, 2, 3, 7, 100, 101), 4),
  created_from: maybe(local, 6),
  created_to: maybe(local, 6),
  updated_from: maybe(local, 9),
  updated_to: maybe(local, 9),
  search: maybe(fc.constantFrom(...SEARCHES), 4),
  active: maybe(fc.boolean(), 5),
  rating: maybe(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), 5),
  customer_id: maybe(fc.constantFrom('c1', 'c2', 'C_4', 'nobody'), 6),
  category_id: maybe(fc.constantFrom('k1', 'k2', 'nowhere', 'k9'), 6),
};

function valuesOf({ name, schema }: Declared): fc.Arbitrary<unknown> {
  const values = wordsOf(schema) ?? [TEXT];
  const others = schema.type === 'array' ? some(values) : maybe(fc.constantFrom(...values), 8);
  return FILTERS[name] ?? others;
}

/**
 * Any filters that a list declares; no range ends before it begins.
 * @param given the values of filters by name, in place of the usual ones.
 * @param times the bounds of time, in place of the usual ones.
 */
export function queryOf(
  path: string,
  given: Record<string, fc.Arbitrary<unknown>> = {},
  times: fc.Arbitrary<object> = fc.constant({}),
): fc.Arbitrary<ListQuery> {
  const values = Object.fromEntries(
    declaredFor(path).map((one) => [one.name, given[one.name] ?? valuesOf(one)]),
  );
  return fc.tuple(fc.record(values), times).map(([filters, bounds]) => {
    const query = Object.fromEntries(
      Object.entries({ ...filters, ...bounds }).filter(
        ([name, one]) => name in values && one !== undefined,
      ),
    );
    for (const [from, to] of RANGES) {
      const range = [query[from], query[to]];
      if (range.every((bound) => typeof bound === 'string'))
        [query[from], query[to]] = range.toSorted();
    }
    return query;
  });
}

/** A request for a list of one store. */
export interface Question {
  path: string;
  query: ListQuery;
  storeId: string;
}

/** An arbitrary question about any list. */
export const question: fc.Arbitrary<Question> = fc
  .constantFrom(...PATHS.filter((path) => /list\/?$/.test(path)))
  .chain((path) =>
    fc.record({
      path: fc.constant(path),
      query: queryOf(path),
      storeId: fc.constantFrom(...STREAM_STORES),
    }),
  );

export function answerTo({ path, query, storeId }: Question, model: Model): Envelope {
  const [, , name = ''] = path.split('/');
  return path === '/api/customer/order-list/'
    ? model.list('order', storeId, query, true)
    : model.list(name.replace('-', '_'), storeId, query);
}

/** Every details endpoint, with the ids in streams and the model's answer. */
export const records = (
  ['order', 'coupon', 'review', 'campaign', 'category', 'product'] as const
).map((kind) => ({
  path: `/api/${kind}/details/?${kind}_id=`,
  ids: STREAM_IDS[kind],
  answer: (model: Model, store: string, id: string) => model.record(kind, store, id),
}));

export function target({ path, query }: Question): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}
