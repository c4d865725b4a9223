/** First pages and records that several stores ask for at the same moment, and which are read together: each is what it is alone. */
import * as fc from 'fast-check';
import type { Document } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, STAMPS } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import type { Answer } from '#test/api-client.ts';
import { type TestChange } from '#test/query-service.ts';

const AT = '2026-03-01T12:00:00Z';
const LISTS = {
  '/api/order/list': ['order', { status: 'pending', order_type: 'delivery', total: '9.90', created_at: AT }],
  '/api/customer/list': ['customer', { name: 'Ana', created_at: AT }],
  '/api/review/list': ['review', { rating: 5, created_at: AT }],
  '/api/coupon/list': [
    'coupon',
    { code: 'A', discount_type: 'fixed', discount_value: '1.00', active: true, created_at: AT },
  ],
  '/api/campaign/list': ['campaign', { name: 'A', channel: 'sms', status: 'draft', created_at: AT }],
  '/api/category/list': ['category', { name: 'A', position: 1, active: true }],
  '/api/product/list': ['product', { name: 'A', price: '1.00', position: 1, active: true }],
  '/api/option-group/list': ['option_group', { name: 'A', min: 0, max: 1, options: [] }],
} as const;
const PATHS = Object.keys(LISTS) as (keyof typeof LISTS)[];

/** How many records of each kind a store has; `none` has not even a record of its own. */
const STORES = { many: 230, some: 27, few: 3, growing: 2, large: 0, none: 0 };
const ALL = Object.keys(STORES);
/** Each has as many of a store's orders. */
const CUSTOMERS = 10;
const ORDERS_OF = '/api/customer/order-list/?customer_id=';
const OFFSETS = ['-03:00', '-04:00', '+00:00', '-02:00', '-03:00'];

const service = useQueryService();
const tokens = new Map<string, string>();

function changesOf(storeId: string, records: number): TestChange[] {
  const offset = OFFSETS[Object.keys(STORES).indexOf(storeId)];
  const data = { name: storeId, timezone_offset: offset, created_at: AT };
  return [
    { entity: 'store', storeId, id: storeId, data },
    ...Object.values(LISTS).flatMap(([entity, data]) =>
      Array.from({ length: records }, (_, index) => ({
        entity,
        storeId,
        id: `${storeId}-${index}`,
        data: entity === 'order' ? { ...data, customer: { id: `c${index % CUSTOMERS}` } } : data,
      })),
    ),
  ];
}

beforeAll(async () => {
  for (const storeId of ALL) {
    await service.setKey({ clientId: `key-${storeId}`, storeId });
    tokens.set(storeId, await service.api.token(`key-${storeId}`, 'secret'));
  }
  const { none, ...withRecords } = STORES;
  expect(none).toBe(0);
  await service.apply(Object.entries(withRecords).flatMap(([storeId, records]) => changesOf(storeId, records)));
});

const ask = (storeId: string, path: string) => service.api.get(path, tokens.get(storeId) ?? '');
const shown = ({ status, text, headers }: Answer) => ({ status, text, etag: headers.get('etag') });

/** Whose records an answer shows. */
function ownersIn({ json }: Answer): Set<string | undefined> {
  const { results } = json as { results: { id: string }[] };
  return new Set(results.map(({ id }) => id.split('-')[0]));
}

/** What MongoDB read for some requests, of a collection and by commands that a filter finds. */
async function profiled(collection: string, reads: Document, ask: () => Promise<unknown>): Promise<Document[]> {
  const { mongodb, config, environment } = service.installation;
  const db = mongodb.db(`${config.namePrefix}_${environment}_g1`);
  const began = new Date();
  await db.command({ profile: 2 });
  await ask();
  await db.command({ profile: 0 });
  return db
    .collection('system.profile')
    .find({ ns: `${db.databaseName}.${collection}`, ...reads, ts: { $gte: began } })
    .toArray();
}

const firstPages = (path: keyof typeof LISTS, ask: () => Promise<unknown>) =>
  profiled(STAMPS, { 'command.pipeline.1.$lookup.from': COLLECTIONS[LISTS[path][0]] }, ask);

async function forgetPlans(collection: string): Promise<void> {
  const { mongodb, config, environment } = service.installation;
  await mongodb.db(`${config.namePrefix}_${environment}_g1`).command({ planCacheClear: collection });
}

describe('MongoDB, which no index is named to', () => {
  // Products have a read of their own, which names its index.
  it.each(PATHS.filter((path) => path !== '/api/product/list'))(
    'reads %s in its order and no further, whatever it planned for others before',
    async (path) => {
      await forgetPlans(COLLECTIONS[LISTS[path][0]]);
      for (const storeId of ['many', 'none', 'few', 'none', 'few', 'none', 'many', 'many'] as const) {
        const [read] = await firstPages(path, () => ask(storeId, path));
        expect(read?.['hasSortStage']).toBeUndefined();
        expect(read?.['docsExamined']).toBeLessThanOrEqual(Math.min(20, STORES[storeId]) + 1);
      }
    },
  );

  it('reads no more than the orders of each customer and the stamps, whatever it planned for others before', async () => {
    await forgetPlans(COLLECTIONS.order);
    const customers = Array.from({ length: CUSTOMERS }, (_, index) => `c${index}`);
    const asked = ['none', 'few', 'many'].flatMap((storeId) => customers.map((customer) => ({ storeId, customer })));
    let fewest = asked.length;
    for (let round = 0; round < 5; round += 1) {
      const areTogether = { 'command.pipeline.3.$project.of': { $exists: true } };
      let shownRecords = 0;
      const reads = await profiled(COLLECTIONS.order, areTogether, async () => {
        for (const { json } of await Promise.all(
          asked.map(({ storeId, customer }) => ask(storeId, ORDERS_OF + customer)),
        )) {
          shownRecords += (json as { results: unknown[] }).results.length;
        }
      });
      const examined = reads.reduce((sum, { docsExamined }) => sum + Number(docsExamined), 0);
      fewest = Math.min(fewest, reads.length);
      expect(shownRecords).toBe(Math.min(20, STORES.many / CUSTOMERS) * CUSTOMERS + STORES.few);
      expect(examined).toBeLessThan(5 * shownRecords);
    }
    expect(fewest).toBeLessThan(asked.length);
  });

  it('is asked for several stores at once', async () => {
    const stores = Array.from({ length: 40 }, (_, index) => ALL[index % ALL.length] ?? '');
    const reads = await firstPages('/api/order/list', () =>
      Promise.all(stores.map((storeId) => ask(storeId, '/api/order/list'))),
    );
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.length).toBeLessThan(stores.length);
  });
});

describe('first pages that are asked for at the same moment', () => {
  it('are what each is alone, to the byte, whatever the stores, lists, page sizes and details', async () => {
    const sizes = ['', '?page_size=1', '?page_size=26', '?page_size=100', '?page=2'];
    // Of the own store and of others.
    const ids = ['many-0', 'many-1', 'some-1', 'few-1'];
    const targets = [
      ...PATHS.flatMap((path) => sizes.map((size) => path + size)),
      ...['c0', 'c9', 'c0&page_size=1', 'c1&status=pending', 'c2&page=2'].map((whose) => ORDERS_OF + whose),
      ...['status=pending', 'status=ready', 'status=pending&page=3'].map((filter) => `/api/order/list?${filter}`),
      ...['rating=5', 'rating=4', 'rating=5&rating=1&page=2'].map((filter) => `/api/review/list?${filter}`),
      ...['ana', 'ana&page=2', 'nobody'].map((text) => `/api/customer/list?search=${text}`),
      ...ids.map((id) => `/api/order/details/?order_id=${id}`),
    ];
    const asked = fc.record({
      storeId: fc.constantFrom(...ALL),
      target: fc.oneof(fc.constantFrom(...targets), fc.constantFrom(...targets.slice(-ids.length))),
    });
    const alone = new Map<string, ReturnType<typeof shown>>();
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 2, maxLength: 120 }), async (requests) => {
        for (const { storeId, target } of requests) {
          const key = `${storeId} ${target}`;
          if (!alone.has(key)) alone.set(key, shown(await ask(storeId, target)));
        }
        const answers = await Promise.all(
          requests.map(async ({ storeId, target }) => shown(await ask(storeId, target))),
        );
        expect(answers).toEqual(requests.map(({ storeId, target }) => alone.get(`${storeId} ${target}`)));
      }),
      { numRuns: 8 },
    );
  });

  it('show nobody else’s records, and a count of their own snapshot, while records come', async () => {
    const seen = new Set<number>();
    for (let round = 0; round < 8; round += 1) {
      const applied = service.apply([
        { entity: 'order', storeId: 'growing', id: `growing-new${round}`, data: LISTS['/api/order/list'][1] },
      ]);
      for (let burst = 0; burst < 3; burst += 1) {
        const asked = Array.from({ length: 40 }, (_, index) => ALL[index % ALL.length] ?? '');
        const answers = await Promise.all(asked.map((storeId) => ask(storeId, '/api/order/list')));
        for (const [index, answer] of answers.entries()) {
          const storeId = asked[index] ?? '';
          const { count, results } = answer.json as { count: number; results: unknown[] };
          expect(ownersIn(answer)).toEqual(new Set(count === 0 ? [] : [storeId]));
          expect(results).toHaveLength(Math.min(20, count));
          if (storeId === 'growing') seen.add(count);
        }
      }
      await applied;
    }
    // Otherwise nothing came meanwhile.
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe('a page that makes more than 16 MiB', () => {
  it('is answered, and its neighbours are', async () => {
    const addresses = Array.from({ length: 50 }, () => ({ reference: '😀'.repeat(4_500) }));
    const customer = (index: number): TestChange => ({
      entity: 'customer',
      storeId: 'large',
      id: `large-${index}`,
      data: {
        name: `C${String(index).padStart(2, '0')}`,
        addresses,
        created_at: '2026-03-01T12:00:00Z',
      },
    });
    // As many as Kafka takes in one batch.
    for (const first of [0, 5, 10, 15]) {
      await service.apply(Array.from({ length: 5 }, (_, index) => customer(first + index)));
    }
    const path = '/api/customer/list';
    const some = shown(await ask('some', path));
    const large = async () => {
      const headers = { authorization: `Bearer ${tokens.get('large') ?? ''}`, 'accept-encoding': 'identity' };
      const response = await fetch(service.url + path, { headers });
      return ((await response.json()) as { results: { id: string }[] }).results.map(({ id }) => id);
    };
    for (let round = 0; round < 2; round += 1) {
      const [ids, ...neighbours] = await Promise.all([
        large(),
        ...Array.from({ length: 6 }, async () => shown(await ask('some', path))),
      ]);
      expect(ids).toEqual(Array.from({ length: 20 }, (_, index) => `large-${index}`));
      expect(neighbours).toEqual(neighbours.map(() => some));
    }
  });
});
