/** The change feeds: of one or several kinds, of summaries or details. */
import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { gone } from '#test/changes.ts';
import type { Answer, ErrorAnswer } from '#test/api-client.ts';
import type { Changes } from '#test/follower.ts';
import type { TestChange } from '#test/events.ts';
import { words } from '#test/words.ts';

const KINDS = words('store order customer review campaign coupon category product option-group');
const AT = { created_at: '2026-03-01T12:00:00.500Z', updated_at: '2026-03-02T12:00:00Z' };
const service = useQueryService({ environments: 2 });

let stores = 0;
/** The id of a store without records. */
function newStore(): string {
  stores += 1;
  return `k${stores}`;
}

const change = (storeId: string, entity: EntityName, number = 1, more: object = {}) => ({
  entity,
  storeId,
  id: entity === 'store' ? storeId : `${entity}${number}`,
  data: { ...exampleEvent(entity).data, ...AT, ...more },
});
const deletion = (...of: Parameters<typeof change>) => gone(change(...of));

async function page(path: string, storeId: string) {
  const { status, text, json } = await service.get(path, storeId);
  expect(status, `${path}: ${text}`).toBe(200);
  return json as Changes;
}

const shortOf = ({ results }: Changes) =>
  results.map(({ kind, id, deleted }) => `${deleted ? '-' : ''}${kind}/${id}`);

/** Reads all pages; `path` has a query. */
async function walk(path: string, storeId: string, after?: string) {
  const told: string[] = [];
  const sizes: number[] = [];
  for (let next = after; ;) {
    const found = await page(next === undefined ? path : `${path}&after=${next}`, storeId);
    told.push(...shortOf(found));
    sizes.push(found.results.length);
    next = found.next;
    expect(found.more && found.results.length === 0).toBe(false);
    if (!found.more) return { told, sizes };
  }
}

/** The status of a refusal, and its detail. */
const refusal = ({ status, json }: Answer) => [status, (json as ErrorAnswer).detail];

it('the entries of an answer are in the order of the last change over all kinds, each record once, at any page size', async () => {
  const storeId = newStore();
  const left = new Set<string>();
  // Kinds are uneven, in runs; records change again and are deleted.
  for (let round = 0; round < 5; round += 1) {
    const changes: TestChange[] = [];
    for (const entity of ENTITY_NAMES) {
      const some = entity === 'store' ? 1 : randomInt(1, entity === 'order' ? 25 : 5);
      for (let count = 0; count < some; count += 1) {
        const number = randomInt(30);
        changes.push(
          randomInt(5) === 0 && entity !== 'store'
            ? deletion(storeId, entity, number)
            : change(storeId, entity, number, entity === 'order' ? { customer: null } : {}),
        );
      }
    }
    for (const { entity, id, data } of changes) {
      const name = `${entity.replace('_', '-')}/${id}`;
      left.delete(name);
      if (data !== undefined) left.add(name);
    }
    await service.apply(changes);
  }
  const expected = [...left];
  for (const size of [1, 7, 20, 1_000]) {
    const { told, sizes } = await walk(`/api/changes?page_size=${size}`, storeId);
    expect(told, `pages of ${size}`).toEqual(expected);
    // Every page except the last is full.
    expect(new Set(sizes.slice(0, -1))).toEqual(new Set(expected.length > size ? [size] : []));
  }
  const some = '/api/changes?page_size=7&kinds=product&kinds=customer';
  expect((await walk(some, storeId)).told).toEqual(
    expected.filter((name) => /^(?:product|customer)/.test(name)),
  );
  for (const kind of KINDS) {
    const { told } = await walk(`/api/${kind}/changes?page_size=7`, storeId);
    expect(told).toEqual(expected.filter((name) => name.startsWith(`${kind}/`)));
  }
});

it('whole records are answered on each kind’s own path; without the parameter summaries are', async () => {
  const storeId = newStore();
  await service.apply(ENTITY_NAMES.map((entity) => change(storeId, entity)));
  await service.apply([
    change(storeId, 'product', 1, { option_group_ids: ['gone', 'option_group1', 'gone'] }),
  ]);
  const whole = await page('/api/changes?records=whole', storeId);
  const product = whole.results.find(({ kind }) => kind === 'product');
  expect(product?.record?.['option_group_ids']).toEqual(['gone', 'option_group1']);
  const summaries = await page('/api/changes?records=summary', storeId);
  for (const kind of KINDS) {
    const of = ({ results }: Changes) => results.filter((entry) => entry.kind === kind);
    expect((await page(`/api/${kind}/changes?records=whole`, storeId)).results).toEqual(of(whole));
    expect((await page(`/api/${kind}/changes`, storeId)).results).toEqual(of(summaries));
    if (kind === 'store') continue;
    const { results: listed } = await service.list(`/api/${kind}/list`, storeId);
    expect(of(summaries).map(({ record }) => record)).toEqual(listed);
  }
});

describe('kinds', () => {
  it('repeated, reordered or all named are the same feed', async () => {
    const storeId = newStore();
    await service.apply(ENTITY_NAMES.map((entity) => change(storeId, entity)));
    const some = await page('/api/changes?kinds=product&kinds=order&kinds=order', storeId);
    expect(shortOf(some)).toEqual(['order/order1', 'product/product1']);
    const all = KINDS.toReversed().map((kind) => `kinds=${kind}`);
    const { next } = await page(`/api/changes?${all.join('&')}`, storeId);
    for (const query of [`kinds=order&kinds=product&after=${some.next}`, `after=${next}`])
      expect((await page(`/api/changes?${query}`, storeId)).results).toEqual([]);
  });

  it('need all of their scopes, and are validated before scopes', async () => {
    const token = await service.tokenOf({ clientId: 'some', scopes: ['order', 'menu'] });
    const ask = (query: string) => service.api.get(`/api/changes?${query}`, token);
    const asked = async (query: string) => refusal(await ask(query));
    const scopesOf = async (query: string) => {
      const { status, headers } = await ask(query);
      return [status, /scope="(.*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]];
    };
    expect(await scopesOf('')).toEqual([403, 'store crm order menu']);
    expect(await asked('')).toEqual([403, expect.stringMatching(/ store and crm$/)]);
    expect(await scopesOf('kinds=product&kinds=customer&kinds=review')).toEqual([403, 'crm menu']);
    for (const wrong of words('nonsense=1 page_size=0 after=x records=x %ff=1 records=%ff')) {
      for (const query of [`kinds=customer&${wrong}`, `${wrong}&kinds=customer`])
        expect(await scopesOf(query), query).toEqual([403, 'crm']);
      expect(await scopesOf(`kinds=order&${wrong}`), wrong).toEqual([422, undefined]);
    }
    for (const wrong of [...words('orders option_group order,product %ff Order order%00'), '']) {
      for (const query of [`kinds=customer&kinds=${wrong}`, `nonsense=1&kinds=${wrong}`])
        expect(await asked(query), query).toEqual([422, expect.stringMatching(/\bkinds\b/)]);
    }
    for (const query of ['kinds=order&kinds=product', '%6binds=order'])
      expect(await scopesOf(query)).toEqual([200, undefined]);
  });
});

it('a cursor is valid only for its path, kinds, records, store and environment', async () => {
  const storeId = newStore();
  const other = newStore();
  await service.apply([change(storeId, 'order'), change(other, 'order')]);
  const environment = service.installation.config.environments[1] ?? '';
  const elsewhere = await service.tokenOf({ clientId: `${storeId}-else`, storeId, environment });
  const paths = words(
    '/api/order/changes? /api/order/changes?records=whole& /api/product/changes?',
    '/api/changes? /api/changes?records=whole& /api/changes?kinds=order&',
    '/api/changes?kinds=order&kinds=product&',
  );
  for (const from of paths) {
    const { next } = await page(from.slice(0, -1), storeId);
    for (const to of paths) {
      const { status } = await service.get(`${to}after=${next}`, storeId);
      expect([from, to, status]).toEqual([from, to, from === to ? 200 : 422]);
    }
    for (const bearer of [await service.tokenFor(other), elsewhere]) {
      expect((await service.api.get(`${from}after=${next}`, bearer)).status, from).toBe(422);
    }
    for (const text of [...words('x %22 a.b'), '', `${next}A`, 'A'.repeat(201)]) {
      expect(refusal(await service.get(`${from}after=${text}`, storeId)), text).toEqual([
        422,
        expect.stringMatching(/^after /),
      ]);
    }
  }
});

it.each([
  ['/api/changes?records=whole&after=now', [1, 2]],
  ['/api/order/changes?page_size=1&after=now', [1, 2]],
  ['/api/changes?after=now', []],
  ['/api/changes?', []],
])(
  '%s of a store with the orders %j answers no changes, and continues with later ones, including deletions',
  async (path, orders) => {
    const storeId = newStore();
    await service.apply(orders.map((number) => change(storeId, 'order', number)));
    const { results, more, next } = await page(path, storeId);
    expect([results, more]).toEqual([[], false]);
    const later = [3, 1].map((number) => change(storeId, 'order', number));
    await service.apply([...later, deletion(storeId, 'order', 1)]);
    const { told } = await walk(path.replace('after=now', ''), storeId, next);
    expect(told).toEqual(['order/order3', '-order/order1']);
  },
);

it('a change of the store’s offset and its deletion are changes of the store alone', async () => {
  const storeId = newStore();
  const store = change(storeId, 'store', 1, { timezone_offset: '+05:30' });
  await service.apply([change(storeId, 'store'), change(storeId, 'order')]);
  const { next } = await page('/api/changes', storeId);
  await service.apply([store]);
  const moved = await page(`/api/changes?after=${next}`, storeId);
  expect(moved).toMatchObject({
    results: [{ kind: 'store', id: storeId, record: { timezone_offset: '+05:30' } }],
    timezone_offset: '+05:30',
  });
  const delivery = { estimated_at: '2026-11-21T03:35:00' };
  expect(await page('/api/order/changes?records=whole', storeId)).toMatchObject({
    results: [{ record: { delivery, created_at: '2026-03-01T17:30:00' } }],
    timezone_offset: '+05:30',
  });
  await service.apply([gone(store)]);
  expect(await page(`/api/changes?after=${moved.next}`, storeId)).toMatchObject({
    results: [{ kind: 'store', id: storeId, deleted: true, record: null }],
    timezone_offset: '-03:00',
  });
  expect(await page('/api/changes', storeId)).toMatchObject({
    results: [{ id: 'order1', record: { created_at: '2026-03-01T09:00:00' } }],
  });
});

describe('a page', () => {
  it('has up to 1,000 changes, even after long runs of other kinds', async () => {
    const storeId = newStore();
    await service.apply([change(storeId, 'category', 1), change(storeId, 'product', 1)]);
    for (let first = 0; first < 1_001; first += 143) {
      await service.apply(times(143, (index) => change(storeId, 'review', first + index)));
    }
    await service.apply([change(storeId, 'category', 2), change(storeId, 'product', 2)]);
    for (const [path, more] of [
      ['/api/review/changes?', 0],
      ['/api/changes?records=whole&', 4],
    ] as const) {
      for (const [size, full] of [
        ['999', 999],
        ['9007199254740991', 1_000],
      ] as const) {
        const { sizes } = await walk(`${path}page_size=${size}`, storeId);
        expect(sizes).toEqual([full, 1_001 + more - full]);
      }
      expect((await page(path, storeId)).results.length).toBe(20);
    }
    const few = '/api/changes?kinds=category&kinds=product&page_size=3';
    expect((await walk(few, storeId)).sizes).toEqual([3, 1]);
  });

  it('ends with the record that exceeds 4 MiB, and has at least one, even if all are more than 16 MiB', async () => {
    const storeId = newStore();
    const small = (first: number) =>
      service.apply(times(30, (index) => change(storeId, 'review', first + index)));
    await small(0);
    // 50 addresses of 4,500 emoji are 900 KB.
    const addresses = times(50, () => ({ reference: '😀'.repeat(4_500) }));
    for (const first of [0, 5, 10, 15]) {
      const large = (index: number) => change(storeId, 'customer', first + index, { addresses });
      await service.apply(times(5, large));
    }
    await small(30);
    for (const [path, expected] of [
      ['/api/changes?page_size=1000', [35, 5, 5, 5, 30]],
      ['/api/customer/changes?page_size=100', [5, 5, 5, 5]],
    ] as const) {
      const { told, sizes } = await walk(path, storeId);
      expect(sizes, path).toEqual(expected);
      expect(new Set(told).size).toBe(told.length);
    }
  }, 120_000);
});
