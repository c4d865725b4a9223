/** Searches for customers that several stores ask for at the same moment, and which are read together: each finds its own. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RANK_NODES } from '#shared/read-models/collections.ts';
import { useQueryService } from '#test/hooks.ts';
import { profiled } from '#test/profiled.ts';
import { withSmallTrees } from '#test/small-trees.ts';

const restoreTrees = withSmallTrees(8, 3);
afterAll(restoreTrees);

const service = useQueryService();

/** How many customers each store has; the last are too few for a tree. */
const STORES = { many: 170, some: 61, other: 40, few: 3, none: 0 };
const FIRST = ['ana', 'bruna', 'caio', 'joana', 'loja 98'];
const LAST = ['lima', 'souza', 'dias', 'limeira'];
/** By name, by number, and by both: the shops match some of the numbers. */
const TERMS = ['ana', 'lim', 'joana dias', 'souza', '98', '8', '1240', 'nobody', 'a 98'];
const PAGES = ['', '&page=2', '&page_size=3&page=4', '&page_size=100', '&page=50'];

interface Customer {
  id: string;
  name: string;
  document: string;
}

const customersOf = (storeId: string, count: number): Customer[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `${storeId}-${at}`,
    name: `${FIRST[at % FIRST.length] ?? ''} ${LAST[Math.floor(at / FIRST.length) % LAST.length] ?? ''} ${at % 7}`,
    document: String(12_000_000_000 + at * 4_099 * (1 + (storeId.length % 3))),
  }));
const customers = new Map(Object.entries(STORES).map(([storeId, count]) => [storeId, customersOf(storeId, count)]));
const tokens = new Map<string, string>();

beforeAll(async () => {
  for (const [storeId, records] of customers) {
    tokens.set(storeId, await service.tokenOf({ clientId: `key-${storeId}`, storeId }));
    await service.apply(
      records.map(({ id, ...data }) => ({
        entity: 'customer',
        storeId,
        id,
        data: { ...data, created_at: '2026-03-01T12:00:00Z' },
      })),
    );
  }
});

interface Asked {
  storeId: string;
  term: string;
  page: string;
}

async function search({ storeId, term, page }: Asked): Promise<unknown> {
  const path = `/api/customer/list?search=${encodeURIComponent(term)}${page}`;
  const { count, results } = await service.api.list(path, tokens.get(storeId) ?? '');
  return { count, ids: results.map(({ id }) => id) };
}

function expected({ storeId, term, page }: Asked): unknown {
  const isNumber = /^\d+$/.test(term);
  const found = (customers.get(storeId) ?? [])
    .filter(({ name, document }) => name.includes(term) || (isNumber && document.includes(term)))
    .toSorted((a, b) => (`${a.name}\0${a.id}` < `${b.name}\0${b.id}` ? -1 : 1));
  const asked = new URLSearchParams(page);
  const size = Number(asked.get('page_size') ?? 20);
  const from = (Number(asked.get('page') ?? 1) - 1) * size;
  return { count: found.length, ids: found.slice(from, from + size).map(({ id }) => id) };
}

const asked = fc.record({
  storeId: fc.constantFrom(...customers.keys()),
  term: fc.constantFrom(...TERMS),
  page: fc.constantFrom(...PAGES),
});

describe('searches that are asked for at the same moment', () => {
  it('each find what they would alone, of their own store', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 2, maxLength: 60 }), async (requests) => {
        expect(await Promise.all(requests.map(search))).toEqual(requests.map(expected));
      }),
      { numRuns: 15 },
    );
  });

  it('are read by fewer commands', async () => {
    const requests = ['many', 'some', 'other'].flatMap((storeId) => TERMS.map((term) => ({ storeId, term, page: '' })));
    const searchAll = () => Promise.all(requests.map(search));
    await searchAll();
    const reads = await profiled(service.installation, [RANK_NODES], searchAll);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.length).toBeLessThan(requests.length / 2);
  });
});
