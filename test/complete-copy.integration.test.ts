/** The guide's promise: who follows the feed has a complete copy. A client that knows only the feed makes every other answer of it. */
import { beforeAll, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { useQueryService } from '#test/hooks.ts';
import type { Changes } from '#test/follower.ts';
import { caughtUp } from '#test/read-models.ts';
import { AdversarialStream } from '../deploy/testing/adversarial-stream.ts';
import { encodeChange } from '../deploy/testing/retried-letter.ts';

type Fields = Record<string, unknown>;

const STORE = 's1';
const ROUNDS = 6;
/** What a record has beside what its list shows. */
const BEYOND_SUMMARY: Record<string, string[]> = {
  order: ['items', 'delivery', 'payments', 'coupon', 'status_history', 'cancellation', 'notes'],
  review: ['reply', 'replied_at'],
  campaign: ['message', 'audience', 'coupon_id', 'sent_count', 'delivered_count', 'converted_count'],
  coupon: ['maximum_discount', 'usage_limit', 'usage_count', 'per_customer_limit', 'order_types'],
  category: ['created_at', 'updated_at'],
  product: ['ean', 'serves', 'option_group_ids', 'created_at'],
};

const service = useQueryService();
let token: string;
const copy = new Map<string, { kind: string; record: Fields; offset: string }>();
let offset = '';

beforeAll(async () => {
  await service.setKey({ clientId: 'follower', storeId: STORE });
  token = await service.api.token('follower', 'secret');
  const stream = new AdversarialStream(STORE, 3);
  const topic = changesTopic(service.installation.environment);
  let after = '';
  for (let round = 0; round < ROUNDS; round += 1) {
    await service.installation.send(topic, stream.next(200).map(encodeChange));
    await caughtUp(service.installation);
    // In between, so that the copy has date-times of several offsets.
    after = await follow(after);
  }
});

async function follow(from: string): Promise<string> {
  for (let after = from; ;) {
    const { json } = await service.api.get(`/api/changes?records=whole&page_size=50${after}`, token);
    const page = json as Changes & { timezone_offset: string };
    for (const { kind, id, record } of page.results) {
      if (record === null) copy.delete(`${kind}/${id}`);
      else copy.set(`${kind}/${id}`, { kind, record, offset: page.timezone_offset });
    }
    offset = page.timezone_offset;
    after = `&after=${page.next}`;
    if (!page.more) return after;
  }
}

/** Records of a kind, with date-times in the store's present offset. */
function records(kind: string): Fields[] {
  return [...copy.values()]
    .filter((copied) => copied.kind === kind)
    .map((copied) => shifted(copied.record, copied.offset) as Fields);
}

function shifted(value: unknown, from: string): unknown {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:]{8}$/.test(value)) {
    const local = Date.parse(value + from) + (Date.parse(`${value}Z`) - Date.parse(value + offset));
    return new Date(local).toISOString().slice(0, 19);
  }
  if (Array.isArray(value)) return value.map((one) => shifted(one, from));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shifted(one, from)]));
}

function summaryOf(kind: string, record: Fields): Fields {
  const kept = Object.entries(record).filter(([name]) => BEYOND_SUMMARY[kind]?.includes(name) !== true);
  const summary = Object.fromEntries(kept);
  if (kind !== 'order' || record['customer'] === null) return summary;
  const { document: _document, ...customer } = record['customer'] as Fields;
  return { ...summary, customer };
}

function groupsOf(product: Fields, isShown: (option: Fields) => boolean): Fields[] {
  const groups = new Map(records('option-group').map((group) => [group['id'], group]));
  return (product['option_group_ids'] as string[]).flatMap((id) => {
    const group = groups.get(id);
    return group === undefined ? [] : [{ ...group, options: (group['options'] as Fields[]).filter(isShown) }];
  });
}

function detailsOf(kind: string, record: Fields): Fields {
  if (kind === 'category') {
    const products = records('product').filter(({ category_id: id }) => id === record['id']);
    return { ...record, product_count: products.length };
  }
  if (kind !== 'product') return record;
  const entries = Object.entries(record).map(([name, value]): [string, unknown] =>
    name === 'option_group_ids' ? ['option_groups', groupsOf(record, () => true)] : [name, value],
  );
  return Object.fromEntries(entries);
}

const compare = (a: unknown, b: unknown) => (a === b ? 0 : (a as string) < (b as string) ? -1 : 1);
const fold = ({ name }: Fields) => String(name).normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
const byFoldedName = (a: Fields, b: Fields) => compare(fold(a), fold(b)) || compare(a['id'], b['id']);
const byPosition = (a: Fields, b: Fields) =>
  compare(a['position'], b['position']) || compare(a['name'], b['name']) || compare(a['id'], b['id']);
const newestFirst = (a: Fields, b: Fields) => compare(b['created_at'], a['created_at']) || compare(a['id'], b['id']);

function byCategory(a: Fields, b: Fields): number {
  const place = ({ category_id: id }: Fields) =>
    Number(copy.get(`category/${String(id)}`)?.record['position'] ?? Number.MAX_SAFE_INTEGER);
  return compare(place(a), place(b)) || byPosition(a, b);
}

const LISTS: Record<string, (a: Fields, b: Fields) => number> = {
  customer: byFoldedName,
  'option-group': byFoldedName,
  order: newestFirst,
  review: newestFirst,
  campaign: newestFirst,
  coupon: newestFirst,
  category: byPosition,
  product: byCategory,
};

async function list(path: string): Promise<Fields[]> {
  const all: Fields[] = [];
  for (let page = 1, full = true; full; page += 1) {
    const { results } = await service.api.list(`${path}?page_size=100&page=${page}`, token);
    all.push(...results);
    full = results.length === 100;
  }
  return all;
}

const text = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value));

it.each(Object.keys(LISTS))('has every list: %s', async (kind) => {
  const order = LISTS[kind];
  const copied = records(kind)
    .toSorted(order)
    .map((record) => summaryOf(kind, record));
  // Of one second the API knows the milliseconds, which it does not show.
  const answered = await list(`/api/${kind}/list`);
  const shown = order === newestFirst ? answered.toSorted(newestFirst) : answered;
  expect(copied.length).toBeGreaterThan(5);
  expect(text(copied)).toEqual(text(shown));
  if (order !== newestFirst) return;
  expect(answered.map((record) => record['created_at'])).toEqual(copied.map((record) => record['created_at']));
});

it('has the list of customers’ orders', async () => {
  const copied = records('order').filter(({ customer }) => customer !== null);
  const shown = await list('/api/customer/order-list/');
  expect(text(copied.toSorted(newestFirst).map((order) => summaryOf('order', order)))).toEqual(
    text(shown.toSorted(newestFirst)),
  );
});

it.each(['order', 'review', 'campaign', 'coupon', 'category', 'product'])(
  'has every details answer: %s',
  async (kind) => {
    for (const record of records(kind)) {
      const path = `/api/${kind}/details/?${kind}_id=${String(record['id'])}`;
      const { json } = await service.api.get(path, token);
      expect(JSON.stringify(detailsOf(kind, record)), path).toBe(JSON.stringify(json));
    }
  },
);

it('has the store info, with date-times that came with several offsets in the copy', async () => {
  const offsets = new Set([...copy.values()].map((copied) => copied.offset));
  expect(offsets.size).toBeGreaterThan(1);
  const { status, json } = await service.api.get('/api/store/info/', token);
  expect(text(records('store'))).toEqual(status === 404 ? [] : text([json]));
});

it('has the menu', async () => {
  const products = records('product')
    .filter(({ active }) => active === true)
    .toSorted(byPosition);
  const shown = records('category')
    .filter(({ active }) => active === true)
    .toSorted(byPosition)
    .map((category) => ({ category, of: products.filter(({ category_id: id }) => id === category['id']) }))
    .filter(({ of }) => of.length > 0);
  const updates = shown.flatMap(({ category, of }) => [category, ...of]).map((one) => String(one['updated_at']));
  const categories = shown.map(({ category, of }) => ({
    ...summaryOf('category', category),
    products: of.map((product) => ({
      ...summaryOf('product', product),
      option_groups: groupsOf(product, ({ active }) => active === true),
    })),
  }));
  const { json } = await service.api.get('/api/menu/', token);
  expect(categories.length).toBeGreaterThan(2);
  const menu = json as Fields & { categories: Fields[] };
  expect(menu).toMatchObject({ store_id: STORE, updated_at: updates.toSorted().at(-1) ?? null });
  expect(text(categories)).toEqual(text(menu.categories));
});
