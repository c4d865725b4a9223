/**
 * Stores at the bounds of the contract, one at a time and in pairs; and every question that the
 * declared routes allow about one.
 */
import type { EntityName } from '#shared/events/entities.ts';
import { MINIMAL } from './changes.ts';
import { LISTS } from './contract-bounds.ts';
import { type Declared, declaredFor, wordsOf } from './declared-parameters.ts';
import { edgeState, longState } from './edge-events.ts';
import type { TestChange } from './events.ts';

/** Each stands for what it says at its maximum. */
export const BOUNDS = [
  'long texts',
  'full lists',
  'one position',
  'one customer',
  'one second',
] as const;
export type Bound = (typeof BOUNDS)[number];

/** No bound, each alone, and all pairs. */
export const COMBINATIONS: readonly (readonly Bound[])[] = [
  [],
  ...BOUNDS.map((bound) => [bound]),
  ...BOUNDS.flatMap((bound, index) => BOUNDS.slice(index + 1).map((other) => [bound, other])),
];

/**
 * Records of `long texts` and `full lists`: the first of each kind. Neither the orders nor the
 * customers of both together fit into one reply of MongoDB.
 */
const LARGE = 5;
const LARGE_CUSTOMERS = 18;
const FILLER = '😀';
const WALK_IN = 'walk-in';
const NEWEST = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;

const LETTERS = {
  store: 's',
  order: 'o',
  customer: 'c',
  review: 'r',
  campaign: 'm',
  coupon: 'n',
  category: 'k',
  product: 'p',
  option_group: 'g',
} as const satisfies Record<EntityName, string>;

/** Group ids are those that full products name. */
const idOf = (entity: EntityName, index: number) =>
  entity === 'option_group' ? `g${index}`.padEnd(64, 'g') : `${LETTERS[entity]}${index}`;

/** Nine of ten records have the last value, the others the first. */
function often<T>(values: readonly T[], index: number): T {
  return values.at(index % 10 === 9 ? 0 : -1) as T;
}

export type Sizes = Partial<Record<EntityName, number>>;

/** The records of a store. Most matter as many as `sizes` say. */
export function* recordsAtBounds(
  storeId: string,
  bounds: readonly Bound[],
  sizes: Sizes,
): Generator<TestChange> {
  const has = (bound: Bound) => bounds.includes(bound);
  const isLong = has('long texts');
  const categories = has('one position') ? (sizes.product ?? 0) : Math.min(20, sizes.product ?? 0);
  const counts = { option_group: LISTS.option_group_ids, ...sizes, category: categories };
  const large = new Map(
    Object.keys(LETTERS).map((entity) => [
      entity,
      has('full lists')
        ? edgeState(entity as EntityName, isLong ? FILLER : '')
        : isLong
          ? longState(entity as EntityName, FILLER)
          : {},
    ]),
  );
  const instant = (index: number) =>
    new Date(has('one second') ? NEWEST + (index % 1_000) : NEWEST - index * MINUTE).toISOString();
  const customer = (index: number) =>
    has('one customer') || index % 2 === 0 ? WALK_IN : `c${index % 50}`;
  const own = (index: number, count: number): Partial<Record<EntityName, object>> => {
    // Nothing that was updated lately was created lately.
    const times = {
      created_at: instant(index),
      updated_at: instant((index * 7) % Math.max(1, count)),
    };
    const isRare = index % 10 === 0;
    return {
      order: {
        status: often(valuesOf('/api/order/list', 'status'), index),
        order_type: often(valuesOf('/api/order/list', 'order_type'), index + 1),
        customer: { id: customer(index) },
        ...times,
      },
      review: { rating: isRare ? 1 : 5, customer_id: customer(index), ...times },
      campaign: { status: often(valuesOf('/api/campaign/list', 'status'), index), ...times },
      coupon: { active: isRare, ...times },
      category: { position: has('one position') ? 1 : index, ...times },
      product: {
        category_id: `k${(index * 7) % categories}`,
        position: Math.floor(index / 20),
        ...times,
      },
      customer: { name: isRare && index >= LARGE_CUSTOMERS ? 'Rara' : 'Ana', ...times },
    };
  };
  yield {
    entity: 'store',
    storeId,
    id: storeId,
    data: { ...MINIMAL.store, ...large.get('store'), timezone_offset: '-03:00' },
  };
  for (const [name, count] of Object.entries(counts)) {
    const entity = name as EntityName;
    for (let index = 0; index < count; index += 1) {
      const most =
        entity === 'option_group' ? count : entity === 'customer' ? LARGE_CUSTOMERS : LARGE;
      const full = index < most ? large.get(entity) : {};
      const fields = own(index, count)[entity];
      yield {
        entity,
        storeId,
        id: idOf(entity, index),
        data: { ...MINIMAL[entity], ...fields, ...full, ...fields },
      };
    }
  }
}

const MAX_BATCH_BYTES = 8 * 1_048_576;

/** As many changes as fit into one request to Kafka. */
export function* batchesOf(changes: Iterable<TestChange>): Generator<TestChange[]> {
  let batch: TestChange[] = [];
  let bytes = 0;
  for (const change of changes) {
    const length = Buffer.byteLength(JSON.stringify(change.data)) + 500;
    if (bytes + length > MAX_BATCH_BYTES) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(change);
    bytes += length;
  }
  yield batch;
}

/** A question: a path and the values of its parameters. */
export interface BoundQuestion {
  path: string;
  parameters: Readonly<Record<string, string | readonly string[]>>;
}

const valuesOf = (path: string, name: string): readonly string[] =>
  declaredFor(path).flatMap((one) => (one.name === name ? (wordsOf(one.schema) ?? []) : []));

const local = (instant: number) => new Date(instant - 180 * MINUTE).toISOString().slice(0, 19);

/**
 * Values that find much, or all, and values that find little, of a parameter that is no page. A new
 * kind of parameter needs a line here.
 */
function tried({ name, schema }: Declared): readonly (string | readonly string[])[] {
  const words = wordsOf(schema);
  const ends = words === undefined ? [] : [words[0] ?? '', words.at(-1) ?? ''];
  if (words !== undefined) return schema.type === 'array' ? [...ends, ends] : ends;
  if (schema.type === 'boolean') return ['true', 'false'];
  if (name.endsWith('_from')) return [local(NEWEST - 10_000 * MINUTE)];
  if (name.endsWith('_to')) return [local(NEWEST + MINUTE)];
  if (name === 'rating') return ['1', '5', ['1', '5']];
  if (name === 'customer_id') return [WALK_IN, 'c1'];
  if (name === 'search') return ['an', 'rara', '99'];
  if (name === 'after') return ['now'];
  // Waiting itself reads nothing.
  if (name === 'wait') return [];
  const kind = Object.keys(LETTERS).find((entity) => name === `${entity}_id`);
  if (kind !== undefined) return [idOf(kind as EntityName, 0)];
  throw new Error(`add values of the parameter ${name} that find much and little`);
}

/**
 * Every question with at most so many filters, one or two, about the first page and the largest
 * second one.
 */
export function* questionsAbout(path: string, mostFilters: number): Generator<BoundQuestion> {
  const declared = declaredFor(path);
  const filters = declared.filter(({ name }) => name !== 'page' && name !== 'page_size');
  const options = filters.map((one) => tried(one).map((value) => ({ [one.name]: value })));
  const required = Object.assign(
    {},
    ...options.flatMap(([first], at) => (filters[at]?.required ? [first] : [])),
  ) as object;
  const chosen: BoundQuestion['parameters'][] = [{}];
  for (const [at, some] of options.entries()) {
    for (const one of some) {
      chosen.push(one);
      if (mostFilters > 1)
        chosen.push(
          ...options
            .slice(at + 1)
            .flat()
            .map((other) => ({ ...one, ...other })),
        );
    }
  }
  const isPaged = declared.some(({ name }) => name === 'page');
  const size = declared.find(({ name }) => name === 'page_size')?.schema['x-effective-maximum'];
  const pages =
    size === undefined
      ? [{}]
      : [{}, { page_size: String(size), ...(isPaged ? { page: '2' } : {}) }];
  const asked = chosen.map((one) => ({ ...required, ...one }));
  for (const parameters of new Map(asked.map((one) => [JSON.stringify(one), one])).values()) {
    for (const page of pages) yield { path, parameters: { ...parameters, ...page } };
  }
}

export function targetOf({ path, parameters }: BoundQuestion): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(parameters)) {
    for (const value of [values].flat()) query.append(name, value);
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
