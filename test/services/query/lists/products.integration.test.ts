/**
 * The product list is sorted by the order of categories, which product documents do not contain.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { COLLECTIONS, STAMPS } from '#shared/read-models/collections.ts';
import { aCategory, aProduct } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { profiled } from '#test/profiled.ts';

const service = useQueryService();

async function readerOf(storeId: string): Promise<(query: string) => Promise<Page>> {
  const token = await service.tokenOf({ clientId: `reader-${storeId}`, storeId, scopes: ['menu'] });
  return async (query) => (await service.api.get(`/api/product/list${query}`, token)).json as Page;
}

interface Page {
  count: number;
  results: { id: string; category_id: string | null; position: number; updated_at: string }[];
}

const idsOf = ({ results }: Page) => results.map(({ id }) => id);
const category = (storeId: string, id: string, position: number) =>
  aCategory(id, { name: id, position }, storeId);
const product = (storeId: string, id: string, category_id: string | null, data: object = {}) =>
  aProduct(id, { category_id, ...data }, storeId);

describe('a store with thousands of products', () => {
  const PRODUCTS = 2_600;
  const POSITIONS = { late: 7, early: 1, same1: 3, same2: 3, empty: 2 };
  const CATEGORIES = ['late', 'same2', null, 'early', 'unknown', 'same1'];
  /** A time so many minutes after a midnight in January. */
  const minute = (index: number) => new Date(Date.UTC(2026, 0, 1, 3, index)).toISOString();
  const products = Array.from({ length: PRODUCTS }, (_, index) => ({
    id: `p${String(index).padStart(4, '0')}`,
    category_id: CATEGORIES[index % CATEGORIES.length] ?? null,
    position: index % 11,
    minute: index,
  }));
  const place = (id: string | null) =>
    new Map<string | null, number>(Object.entries(POSITIONS)).get(id) ?? Number.MAX_SAFE_INTEGER;
  const sorted = products.toSorted(
    (a, b) =>
      place(a.category_id) - place(b.category_id) ||
      a.position - b.position ||
      (a.id < b.id ? -1 : 1),
  );
  let list: (query: string) => Promise<Page>;
  beforeAll(async () => {
    await service.apply([
      ...Object.entries(POSITIONS).map(([id, position]) => category('many', id, position)),
      ...products.map(({ id, category_id, position, minute: at }) =>
        product('many', id, category_id, { position, updated_at: minute(at) }),
      ),
    ]);
    list = await readerOf('many');
  });

  it('is listed page by page in the order of its categories, each product once', async () => {
    const seen: string[] = [];
    for (let page = 1; page <= Math.ceil(PRODUCTS / 100) + 1; page += 1) {
      const answer = await list(`?page_size=100&page=${page}`);
      expect(answer.count).toBe(PRODUCTS);
      seen.push(...idsOf(answer));
    }
    expect(seen).toEqual(sorted.map(({ id }) => id));
    expect(idsOf(await list('?page_size=7&page=40'))).toEqual(
      sorted.slice(273, 280).map(({ id }) => id),
    );
  });

  it('is filtered by category and update time, in narrow and wide windows', async () => {
    const windows = [
      [0, PRODUCTS],
      [100, 130],
      [100, 2_300],
      [PRODUCTS, PRODUCTS + 5],
    ] as const;
    for (const [from, to] of windows) {
      for (const only of [null, 'same2', 'unknown', 'nobody']) {
        const bounds = `updated_from=${minute(from - 180).slice(0, 19)}&updated_to=${minute(to - 180).slice(0, 19)}`;
        const expected = sorted.filter(
          ({ minute: at, category_id }) =>
            at >= from && at <= to && (only === null || category_id === only),
        );
        for (const page of [1, 2, 9]) {
          const answer = await list(
            `?${bounds}&page_size=50&page=${page}${only === null ? '' : `&category_id=${only}`}`,
          );
          expect(answer.count).toBe(expected.length);
          expect(idsOf(answer)).toEqual(
            expected.slice((page - 1) * 50, page * 50).map(({ id }) => id),
          );
        }
      }
    }
    const of = await list('?category_id=early&page_size=20&page=3');
    const early = sorted.filter(({ category_id }) => category_id === 'early');
    expect([of.count, idsOf(of)]).toEqual([early.length, early.slice(40, 60).map(({ id }) => id)]);
  });

  it('reads little more than the page from MongoDB', async () => {
    const queries = ['', '?page_size=20&page=60', '?page_size=20&page=130'];
    const askAll = async () => {
      for (const query of queries) await list(query);
    };
    await list('');
    const reads = await profiled(service.installation, [COLLECTIONS.product, STAMPS], askAll, {
      'command.aggregate': COLLECTIONS.product,
    });
    expect(reads).toHaveLength(3);
    for (const read of reads) {
      expect(read['hasSortStage']).toBeUndefined();
      expect(read['docsExamined']).toBeLessThanOrEqual(21);
    }
  });
});

describe('hundreds of categories at one position', () => {
  it('have their products sorted together, while another store is asked', async () => {
    const CATEGORIES = 300;
    const products = Array.from({ length: CATEGORIES * 2 }, (_, index) => ({
      id: `p${String(index).padStart(3, '0')}`,
      category: `k${(index * 7) % CATEGORIES}`,
      position: (index * 13) % 17,
    }));
    await service.apply([
      ...Array.from({ length: CATEGORIES }, (_, index) => category('level', `k${index}`, 1)),
      category('level', 'last', 2),
      product('level', 'z-last', 'last', { position: 0 }),
      ...products.map(({ id, category: of, position }) => product('level', id, of, { position })),
      product('beside', 'p1', null),
    ]);
    const [list, other] = [await readerOf('level'), await readerOf('beside')];
    const sorted = products
      .toSorted((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
    const expected = [...sorted, 'z-last'];
    for (const page of [1, 2, 15, 30, 31, 32]) {
      const answers = await Promise.all([
        list(`?page=${page}`),
        other(''),
        list(`?page=${page}`),
        other(''),
      ]);
      const own = { count: expected.length, ids: expected.slice((page - 1) * 20, page * 20) };
      const shown = answers.map((answer) => ({ count: answer.count, ids: idsOf(answer) }));
      expect(shown).toEqual([own, { count: 1, ids: ['p1'] }, own, { count: 1, ids: ['p1'] }]);
    }
  });
});

describe('categories that move', () => {
  it('move all their products in every answer at the same time', async () => {
    const storeId = 'moving';
    const products = Array.from({ length: 40 }, (_, index) =>
      product(storeId, `p${String(index).padStart(2, '0')}`, index % 2 === 0 ? 'even' : 'odd'),
    );
    await service.apply([category(storeId, 'even', 1), category(storeId, 'odd', 5), ...products]);
    const list = await readerOf(storeId);
    const even = products.flatMap(({ id }, index) => (index % 2 === 0 ? id : []));
    const odd = products.flatMap(({ id }, index) => (index % 2 === 1 ? id : []));
    const orders = [
      [...even, ...odd],
      [...odd, ...even],
    ].map((order) => JSON.stringify(order.slice(0, 30)));
    const seen = new Set<string>();
    const moved = new AbortController();
    const asking = Promise.all(
      Array.from({ length: 2 }, async () => {
        while (!moved.signal.aborted) seen.add(JSON.stringify(idsOf(await list('?page_size=30'))));
      }),
    );
    for (let round = 0; round < 12; round += 1) {
      await service.apply([category(storeId, 'even', round % 2 === 0 ? 9 : 1)]);
      const answer = JSON.stringify(idsOf(await list('?page_size=30')));
      expect(answer).toBe(orders[(round + 1) % 2]);
    }
    moved.abort();
    await asking;
    expect([...seen].filter((order) => !orders.includes(order))).toEqual([]);

    await service.apply([{ entity: 'category', storeId, id: 'odd' }]);
    expect(idsOf(await list('?page_size=40'))).toEqual([...even, ...odd]);
    await service.apply([product(storeId, 'p00', null), { entity: 'product', storeId, id: 'p02' }]);
    const left = even.filter((id) => id !== 'p00' && id !== 'p02');
    // Products without a category and with an unknown one are sorted together.
    expect(idsOf(await list('?page_size=40'))).toEqual([...left, 'p00', ...odd]);
    expect((await list('?category_id=even')).count).toBe(left.length);
  });
});
