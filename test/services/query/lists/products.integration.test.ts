/**
 * The product list is sorted by the order of categories, which product documents do not contain.
 */
import { expect, it } from 'vitest';
import { CATEGORY_PRODUCTS, COLLECTIONS, STAMPS } from '#shared/read-models/collections.ts';
import { aCategory, aProduct } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { profiled } from '#test/profiled.ts';

const service = useQueryService();

/** Makes a function that reads the count and the ids of a page. */
const readerOf = (storeId: string) => async (query: string) => {
  const { count, results } = await service.list(`/api/product/list${query}`, storeId);
  return { count, ids: results.map(({ id }) => id) };
};

const category = (storeId: string, id: string, position: number) =>
  aCategory(id, { name: id, position }, storeId);
const product = (storeId: string, id: string, category_id: string | null, data: object = {}) =>
  aProduct(id, { category_id, ...data }, storeId);

it('any page of all products is one read of little more than its records', async () => {
  const PRODUCTS = 600;
  const CATEGORIES = ['late', 'same2', null, 'early', 'unknown', 'same1'];
  await service.apply([
    ...['early', 'same1', 'same2', 'late'].map((id, index) => category('many', id, index)),
    ...times(PRODUCTS, (index) =>
      product('many', `p${index}`, CATEGORIES[index % CATEGORIES.length] ?? null, {
        position: index % 11,
      }),
    ),
  ]);
  const list = readerOf('many');
  await list('');
  const askAll = async () => {
    for (const query of ['', '?page=15', '?page=30'])
      expect((await list(query)).ids).toHaveLength(20);
  };
  const { product: products, category: categories } = COLLECTIONS;
  const collections = [products, categories, CATEGORY_PRODUCTS, STAMPS];
  const reads = await profiled(service.installation, collections, askAll);
  expect(reads).toHaveLength(3);
  for (const read of reads) {
    expect(read['hasSortStage']).toBeUndefined();
    expect(read['docsExamined']).toBeLessThanOrEqual(21);
  }
});

it('hundreds of categories at one position have their products sorted together, while another store is asked', async () => {
  const CATEGORIES = 300;
  const products = times(CATEGORIES * 2, (index) => ({
    id: `p${String(index).padStart(3, '0')}`,
    category: `k${(index * 7) % CATEGORIES}`,
    position: (index * 13) % 17,
  }));
  await service.apply([
    ...times(CATEGORIES, (index) => category('level', `k${index}`, 1)),
    category('level', 'last', 2),
    product('level', 'z-last', 'last', { position: 0 }),
    ...products.map(({ id, category: of, position }) => product('level', id, of, { position })),
    product('beside', 'p1', null),
  ]);
  const [list, other] = [readerOf('level'), readerOf('beside')];
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
    const beside = { count: 1, ids: ['p1'] };
    expect(answers).toEqual([own, beside, own, beside]);
  }
});

it('categories that move take along all their products in every answer at the same time', async () => {
  const storeId = 'moving';
  const products = times(40, (index) =>
    product(storeId, `p${String(index).padStart(2, '0')}`, index % 2 === 0 ? 'even' : 'odd'),
  );
  await service.apply([category(storeId, 'even', 1), category(storeId, 'odd', 5), ...products]);
  const list = readerOf(storeId);
  const even = products.flatMap(({ id }, index) => (index % 2 === 0 ? id : []));
  const odd = products.flatMap(({ id }, index) => (index % 2 === 1 ? id : []));
  const orders = [
    [...even, ...odd],
    [...odd, ...even],
  ].map((order) => JSON.stringify(order.slice(0, 30)));
  const seen = new Set<string>();
  const moved = new AbortController();
  const asking = Promise.all(
    times(2, async () => {
      while (!moved.signal.aborted) seen.add(JSON.stringify((await list('?page_size=30')).ids));
    }),
  );
  for (let round = 0; round < 12; round += 1) {
    await service.apply([category(storeId, 'even', round % 2 === 0 ? 9 : 1)]);
    const { ids } = await list('?page_size=30');
    expect(JSON.stringify(ids)).toBe(orders[(round + 1) % 2]);
  }
  moved.abort();
  await asking;
  expect([...seen].filter((order) => !orders.includes(order))).toEqual([]);
});
