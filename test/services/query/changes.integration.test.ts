import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '#test/api-client.ts';
import { type QueryService, startQueryService, type TestChange } from '#test/query-service.ts';

interface Change {
  kind: string;
  id: string;
  deleted: boolean;
  record: Record<string, unknown> | null;
}
interface Changes {
  results: Change[];
  timezone_offset: string;
  next: string;
  more: boolean;
}

let service: QueryService;
let token: string;

beforeAll(async () => {
  service = await startQueryService({ environments: 2 });
  await service.setKey({ clientId: 'full' });
  token = await service.api.token('full', 'secret');
});
afterAll(() => service?.close());

let stores = 0;
/** A store of its own, with a token for it. */
async function newStore(): Promise<{ storeId: string; token: string }> {
  stores += 1;
  const storeId = `c${stores}`;
  await service.setKey({ clientId: storeId, storeId });
  return { storeId, token: await service.api.token(storeId, 'secret') };
}

const order = (storeId: string, id: string, status = 'pending', more: object = {}): TestChange => ({
  entity: 'order',
  storeId,
  id,
  data: { status, order_type: 'delivery', total: '1.00', created_at: '2026-03-01T12:00:00Z', ...more },
});
const deleted = (entity: TestChange['entity'], storeId: string, id: string): TestChange => ({
  entity,
  storeId,
  id,
});

async function changes(path: string, bearer: string): Promise<Changes> {
  const answer = await service.api.get(path, bearer);
  expect(answer.status, answer.text).toBe(200);
  expect(Object.keys(answer.json as object)).toEqual(['results', 'timezone_offset', 'next', 'more']);
  const page = answer.json as Changes;
  expect(page.next).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
  if (page.results.length === 0) expect(page.more).toBe(false);
  expect(new Set(page.results.map(({ id }) => id)).size).toBe(page.results.length);
  for (const { deleted: isDeleted, record } of page.results) expect(record === null).toBe(isDeleted);
  return page;
}

/** All changes after a cursor, page by page. */
async function walk(bearer: string, kind: string, after: string | null = null, size = 100) {
  const told: Change[] = [];
  let next = after;
  for (;;) {
    const query = `page_size=${size}${next === null ? '' : `&after=${next}`}`;
    const page = await changes(`/api/${kind}/changes?${query}`, bearer);
    told.push(...page.results);
    next = page.next;
    if (!page.more) return { told, next };
  }
}
const idsOf = (told: readonly Change[]) => told.map(({ id, deleted: gone }) => (gone ? `-${id}` : id));
const codeOf = ({ status, json }: Answer) => [status, (json as { code: string }).code];

describe('a walk from the beginning', () => {
  it('tells each record once, at its newest state, in the order of the last changes', async () => {
    const { storeId, token: bearer } = await newStore();
    await service.apply([
      order(storeId, 'o1'),
      order(storeId, 'o2'),
      order(storeId, 'o3'),
      order(storeId, 'o1', 'ready'),
      deleted('order', storeId, 'o2'),
    ]);
    for (const size of [1, 2, 100]) {
      const { told } = await walk(bearer, 'order', null, size);
      expect(idsOf(told), `pages of ${size}`).toEqual(['o3', 'o1']);
      expect(told[1]?.record).toMatchObject({ id: 'o1', status: 'ready' });
    }
    const { results } = await service.api.list('/api/order/list', bearer);
    const { told } = await walk(bearer, 'order');
    expect(told.map(({ record }) => record)).toEqual(
      expect.arrayContaining(results.map((record) => expect.objectContaining(record) as unknown)),
    );
  });

  it('tells a deletion only where it came after the walk began', async () => {
    const { storeId, token: bearer } = await newStore();
    await service.apply([
      ...['o1', 'o2', 'o3', 'o4'].map((id) => order(storeId, id)),
      deleted('order', storeId, 'o2'),
    ]);
    const first = await changes('/api/order/changes?page_size=1', bearer);
    expect(idsOf(first.results)).toEqual(['o1']);
    await service.apply([deleted('order', storeId, 'o1'), deleted('order', storeId, 'o3')]);
    const { told, next } = await walk(bearer, 'order', first.next, 1);
    expect(idsOf(told)).toEqual(['o4', '-o1', '-o3']);
    expect(idsOf((await walk(bearer, 'order', next)).told)).toEqual([]);
  });

  it('is empty where nothing has arrived, and goes on to what comes, deletions too', async () => {
    const { storeId, token: bearer } = await newStore();
    const { told, next } = await walk(bearer, 'order');
    expect(told).toEqual([]);
    await service.apply([order(storeId, 'o1'), order(storeId, 'o2'), deleted('order', storeId, 'o1')]);
    expect(idsOf((await walk(bearer, 'order', next)).told)).toEqual(['o2', '-o1']);
  });
});

it('more than 16 MiB are told, deletions too, and what is asked beside them', async () => {
  const one = await newStore();
  const other = await newStore();
  const addresses = Array.from({ length: 50 }, () => ({ reference: '😀'.repeat(4_500) }));
  const ids = Array.from({ length: 24 }, (_, index) => `c${index}`);
  // As many as Kafka takes in one batch.
  for (let first = 0; first < ids.length; first += 5) {
    await service.apply(
      ids.slice(first, first + 5).map((id) => ({
        entity: 'customer',
        storeId: one.storeId,
        id,
        data: { name: id, addresses, created_at: '2026-03-01T12:00:00Z' },
      })),
    );
  }
  await service.apply([order(other.storeId, 'o1')]);
  const beginning = (await changes('/api/customer/changes?page_size=1', one.token)).next;
  await service.apply([deleted('customer', one.storeId, 'c3')]);
  const [large, ...beside] = await Promise.all([
    walk(one.token, 'customer', beginning),
    ...Array.from({ length: 6 }, () => changes('/api/order/changes', other.token)),
  ]);
  expect(idsOf(large.told)).toEqual([...ids.filter((id) => !['c0', 'c3'].includes(id)), '-c3']);
  expect(beside.map(({ results }) => idsOf(results))).toEqual(beside.map(() => ['o1']));
});

describe('whoever goes on from next', () => {
  it('is told late, old-dated and future events, records made again and nothing twice', async () => {
    const { storeId, token: bearer } = await newStore();
    await service.apply([order(storeId, 'o1'), order(storeId, 'o2')]);
    let { next } = await walk(bearer, 'order');
    const follow = async () => {
      const found = await walk(bearer, 'order', next, 2);
      next = found.next;
      return idsOf(found.told);
    };
    expect(await follow()).toEqual([]);
    await service.apply([order(storeId, 'old', 'pending', { updated_at: '2001-01-01T00:00:00Z' })]);
    await service.apply([order(storeId, 'ahead', 'pending', { updated_at: '2099-01-01T00:00:00Z' })]);
    expect(await follow()).toEqual(['old', 'ahead']);
    await service.apply([order(storeId, 'o1', 'ready'), deleted('order', storeId, 'o2')]);
    expect(await follow()).toEqual(['o1', '-o2']);
    await service.apply([order(storeId, 'o2')]);
    expect(await follow()).toEqual(['o2']);
    expect(await follow()).toEqual([]);
  });

  it('is not told what another kind of records did', async () => {
    const { storeId, token: bearer } = await newStore();
    const at = { created_at: '2026-03-01T12:00:00Z' };
    await service.apply([
      order(storeId, 'o1'),
      { entity: 'customer', storeId, id: 'c1', data: { name: 'A', ...at } },
    ]);
    const { next } = await walk(bearer, 'customer');
    await service.apply([order(storeId, 'o2'), deleted('order', storeId, 'o1')]);
    expect((await walk(bearer, 'customer', next)).told).toEqual([]);
  });

  it('is told the orders and reviews of a deleted customer, without the data', async () => {
    const { storeId, token: bearer } = await newStore();
    const at = { created_at: '2026-03-01T12:00:00Z' };
    const customer = { id: 'c1', name: 'Maria', phone: '11 9' };
    await service.apply([
      { entity: 'customer', storeId, id: 'c1', data: { name: 'Maria', ...at } },
      order(storeId, 'o1', 'pending', { customer }),
      order(storeId, 'o2'),
      {
        entity: 'review',
        storeId,
        id: 'r1',
        data: { rating: 5, customer_id: 'c1', customer_name: 'Maria', ...at },
      },
    ]);
    const orders = await walk(bearer, 'order');
    const reviews = await walk(bearer, 'review');
    await service.apply([deleted('customer', storeId, 'c1')]);
    await expect
      .poll(async () => (await walk(bearer, 'order', orders.next)).told, { timeout: 120_000 })
      .toMatchObject([{ id: 'o1', record: { customer: { id: 'c1', name: null, phone: null } } }]);
    await expect
      .poll(async () => (await walk(bearer, 'review', reviews.next)).told, { timeout: 120_000 })
      .toMatchObject([{ id: 'r1', record: { customer_id: 'c1', customer_name: null } }]);
  });

  it('is not told a product or category for its groups or products, nor anything for a moved offset', async () => {
    const { storeId, token: bearer } = await newStore();
    const store = { name: 'Loja', timezone_offset: '-03:00', created_at: '2026-01-01T00:00:00Z' };
    const group = (name: string): TestChange => ({
      entity: 'option_group',
      storeId,
      id: 'g1',
      data: { name, min: 0, max: 1, options: [] },
    });
    const product = (id: string): TestChange => ({
      entity: 'product',
      storeId,
      id,
      data: {
        name: 'P',
        price: '5.00',
        position: 1,
        active: true,
        category_id: 'k1',
        option_group_ids: ['g1'],
        updated_at: '2026-03-01T12:00:00Z',
      },
    });
    await service.apply([
      { entity: 'store', storeId, id: storeId, data: store },
      { entity: 'category', storeId, id: 'k1', data: { name: 'K', position: 1, active: true } },
      product('p1'),
      group('G'),
    ]);
    const products = await walk(bearer, 'product');
    const categories = await walk(bearer, 'category');
    const groups = await walk(bearer, 'option-group');
    expect(products.told[0]?.record).toMatchObject({ updated_at: '2026-03-01T09:00:00' });
    await service.apply([
      group('H'),
      { entity: 'store', storeId, id: storeId, data: { ...store, timezone_offset: '-05:00' } },
    ]);
    expect((await walk(bearer, 'product', products.next)).told).toEqual([]);
    expect((await walk(bearer, 'category', categories.next)).told).toEqual([]);
    expect((await walk(bearer, 'option-group', groups.next)).told).toMatchObject([{ record: { name: 'H' } }]);
    const page = await changes('/api/product/changes', bearer);
    expect(page.timezone_offset).toBe('-05:00');
    expect(page.results).toMatchObject([{ record: { updated_at: '2026-03-01T07:00:00' } }]);
  });
});

describe('a cursor', () => {
  it('of another store, environment or kind is refused, and so is one that is malformed', async () => {
    const one = await newStore();
    const other = await newStore();
    await service.apply([order(one.storeId, 'o1'), order(other.storeId, 'secret')]);
    const { next } = await walk(one.token, 'order');
    const refused = async (path: string, bearer: string) => {
      const answer = await service.api.get(path, bearer);
      expect(codeOf(answer), path).toEqual([422, 'invalid_parameters']);
      expect((answer.json as { detail: string }).detail).toMatch(/^after /);
    };
    await refused(`/api/order/changes?after=${next}`, other.token);
    await refused(`/api/customer/changes?after=${next}`, one.token);
    const environment = service.installation.config.environments[1] ?? '';
    await service.setKey({ clientId: 'elsewhere', storeId: one.storeId, environment });
    await refused(`/api/order/changes?after=${next}`, await service.api.token('elsewhere', 'secret'));
    for (const text of [
      'x',
      'A'.repeat(200),
      'A'.repeat(201),
      `${next}A`,
      next.slice(1),
      '%22',
      'a.b',
      'a=',
    ]) {
      await refused(`/api/order/changes?after=${text}`, one.token);
    }
  });

  it('never gives another’s data, whichever bit of it is changed', async () => {
    const one = await newStore();
    const other = await newStore();
    await service.apply([order(one.storeId, 'o1'), order(other.storeId, 'secret')]);
    const { next } = await walk(one.token, 'order');
    const bytes = Buffer.from(next, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const answer = await service.api.get(
        `/api/order/changes?after=${changed.toString('base64url')}`,
        one.token,
      );
      expect([200, 422]).toContain(answer.status);
      expect(answer.text).not.toContain('secret');
    }
  });
});

describe('the request', () => {
  it('reads numbers as all endpoints do', async () => {
    const { token: bearer } = await newStore();
    const status = async (query: string) =>
      (await service.api.get(`/api/order/changes?${query}`, bearer)).status;
    for (const query of [
      'page_size=0',
      'page_size=x',
      'wait=-1',
      'wait=01',
      'wait=1.5',
      'wait=',
      'after=',
      'page=1',
    ]) {
      expect(await status(query), query).toBe(422);
    }
    for (const query of ['page_size=1', 'page_size=101', 'wait=0'])
      expect(await status(query), query).toBe(200);
  });

  it('is never answered 304', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await service.api.get('/api/order/changes', token, headers)).status).toBe(200);
  });
});
