/**
 * First pages and records that concurrent requests of several stores read together: each answer
 * equals that of a single request.
 */
import * as fc from 'fast-check';
import type { Document } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { COLLECTIONS, STAMPS } from '#shared/read-models/collections.ts';
import { aCustomer, aStore, MINIMAL } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { words } from '#test/words.ts';
import type { Answer, ListBody } from '#test/api-client.ts';
import { profiled } from '#test/profiled.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const KINDS = ENTITY_NAMES.filter((entity) => entity !== 'store');
const pathOf = (kind: EntityName) => `/api/${kind.replace('_', '-')}/list`;

/** The records of each kind per store; `none` has not even a store record. */
const STORES = { many: 230, some: 27, few: 3, large: 0, none: 0 };
const ALL = Object.keys(STORES);
/** The customers per store, with equal numbers of orders. */
const CUSTOMERS = 10;
const ORDERS_OF = '/api/customer/order-list/?customer_id=';
const OFFSETS = ['-03:00', '-04:00', '+00:00', '-02:00'];

const FIRST = ['ana', 'bruna', 'caio', 'joana', 'loja 98'];
const LAST = ['lima', 'souza', 'dias', 'limeira'];
/** Searches by name, by number, and by both. */
const TERMS = ['ana', 'lim', 'joana dias', 'souza', '98', '8', '1240', 'nobody', 'a 98'];

afterAll(withSmallTrees(8, 3));
const service = useQueryService();

function changesOf(storeId: string, records: number) {
  const timezone_offset = OFFSETS[ALL.indexOf(storeId)];
  /**
   * Fields that differ between records: positions of categories, and uneven categories of products.
   */
  const own = (entity: EntityName, index: number) => {
    if (entity === 'order') return { customer: { id: `c${index % CUSTOMERS}` } };
    if (entity === 'customer') {
      const last = LAST[Math.floor(index / FIRST.length) % LAST.length];
      return {
        name: `${FIRST[index % FIRST.length]} ${last} ${index % 7}`,
        document: String(12_000_000_000 + index * 4_099 * storeId.length),
      };
    }
    return { position: (index * 7) % 5, category_id: `${storeId}-${index ** 2 % 9}` };
  };
  return [
    aStore(storeId, { timezone_offset }),
    ...KINDS.flatMap((entity) =>
      times(records, (index) => ({
        entity,
        storeId,
        id: `${storeId}-${index}`,
        data: { ...MINIMAL[entity], ...own(entity, index) },
      })),
    ),
  ];
}

beforeAll(async () => {
  for (const storeId of ALL) await service.tokenFor(storeId);
  const stores = Object.entries(STORES).filter(([storeId]) => storeId !== 'none');
  await service.apply(stores.flatMap(([storeId, records]) => changesOf(storeId, records)));
});

const ask = (storeId: string, path: string) => service.get(path, storeId);
const shown = ({ status, text, headers }: Answer) => ({ status, text, etag: headers.get('etag') });

const firstPages = (kind: EntityName, ask: () => Promise<unknown>, which: Document = {}) =>
  profiled(service.installation, [STAMPS], ask, {
    'command.pipeline.1.$lookup.from': COLLECTIONS[kind],
    ...which,
  });

function forgetPlans(entity: EntityName) {
  const { databases, environment } = service.installation;
  return databases.generation(environment, 1).command({ planCacheClear: COLLECTIONS[entity] });
}

describe('MongoDB without an index hint', () => {
  // The read of products names its index.
  it.each(KINDS.filter((kind) => kind !== 'product'))(
    'reads the list of each %s by an index and no further, whatever plans it cached before',
    async (kind) => {
      await forgetPlans(kind);
      const storeIds = words('many none few none few none many many') as (keyof typeof STORES)[];
      for (const storeId of storeIds) {
        const [read] = await firstPages(kind, () => ask(storeId, pathOf(kind)));
        expect(read?.['hasSortStage']).toBeUndefined();
        expect(read?.['docsExamined']).toBeLessThanOrEqual(Math.min(20, STORES[storeId]) + 1);
      }
    },
  );

  it('reads only the orders of each customer and the stamps, whatever plans it cached before', async () => {
    await forgetPlans('order');
    const customers = times(CUSTOMERS, (index) => `c${index}`);
    const asked = ['none', 'few', 'many'].flatMap((storeId) =>
      customers.map((customer) => ({ storeId, customer })),
    );
    for (let round = 0; round < 5; round += 1) {
      let shownRecords = 0;
      const askAll = async () => {
        const answers = await Promise.all(
          asked.map(({ storeId, customer }) => ask(storeId, ORDERS_OF + customer)),
        );
        for (const { json } of answers)
          shownRecords += (json as { results: unknown[] }).results.length;
      };
      const reads = await profiled(service.installation, [COLLECTIONS.order], askAll);
      const examined = reads.reduce((sum, { docsExamined }) => sum + Number(docsExamined), 0);
      expect(shownRecords).toBe(Math.min(20, STORES.many / CUSTOMERS) * CUSTOMERS + STORES.few);
      expect(examined).toBeLessThan(5 * shownRecords);
    }
  });

  it('gets one command for several stores', async () => {
    const asked = times(40, (index) => ALL[index % ALL.length] ?? '');
    const askAll = () => Promise.all(asked.map((storeId) => ask(storeId, pathOf('order'))));
    const ofSeveral = { 'command.pipeline.0.$match._id.$in.1': { $exists: true } };
    expect(await firstPages('order', askAll, ofSeveral)).not.toEqual([]);
  });
});

it('concurrent requests get the same bytes as single ones, for any stores, lists, page sizes and details', async () => {
  const sizes = ['', '?page_size=1', '?page_size=26', '?page_size=100', '?page=2'];
  // Ids of the own store and of others.
  const ids = ['many-0', 'many-1', 'some-1', 'few-1'];
  const targets = [
    ...KINDS.flatMap((kind) => sizes.map((size) => pathOf(kind) + size)),
    ...words('c0 c9 c0&page_size=1 c1&status=pending c2&page=2').map((whose) => ORDERS_OF + whose),
    ...words(
      '/api/order/list?status=pending /api/order/list?status=ready /api/order/list?status=pending&page=3',
      '/api/review/list?rating=5 /api/review/list?rating=4 /api/review/list?rating=5&rating=1&page=2',
    ),
    ...TERMS.flatMap((term) =>
      ['', '&page=2', '&page_size=3&page=4', '&page_size=100'].map(
        (page) => `/api/customer/list?search=${term}${page}`,
      ),
    ),
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
      expect(answers).toEqual(
        requests.map(({ storeId, target }) => alone.get(`${storeId} ${target}`)),
      );
    }),
    { numRuns: 30 },
  );
});

it('concurrent requests get the page size that each asked for, where all sizes show the same products', async () => {
  const sizes = times(20, (index) => index + 20);
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(
      sizes.map((size) => ask('few', `/api/product/list?page_size=${size}`)),
    );
    expect(answers.map(({ json }) => (json as ListBody).page_size)).toEqual(sizes);
  }
});

it('a page of more than 16 MiB is answered, like concurrent requests of other stores', async () => {
  const addresses = times(50, () => ({ reference: '😀'.repeat(4_500) }));
  const ids = times(20, (index) => `large-${10 + index}`);
  // As many as fit into a Kafka batch.
  for (const first of [0, 5, 10, 15]) {
    const some = ids.slice(first, first + 5);
    await service.apply(some.map((id) => aCustomer(id, { name: id, addresses }, 'large')));
  }
  const path = '/api/customer/list';
  const some = shown(await ask('some', path));
  // A window is read alone. Each kind of read finds out that the page is large.
  for (const query of ['', '', '?updated_from=2000-01-01T00:00:00']) {
    const [large, ...neighbours] = await Promise.all([
      service.list(path + query, 'large'),
      ...times(6, async () => shown(await ask('some', path))),
    ]);
    expect(large.results.map(({ id }) => id)).toEqual(ids);
    expect(neighbours).toEqual(neighbours.map(() => some));
  }
});
