import { afterAll, beforeAll, expect, it } from 'vitest';
import { MENU_SECTIONS } from '#shared/read-models/collections.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { readModels } from '#test/read-models.ts';

interface Menu {
  updated_at: string | null;
  categories: { id: string; products: { id: string; option_groups: { options: { id: string }[] }[] }[] }[];
}

let service: QueryService;
let token: string;
beforeAll(async () => {
  service = await startQueryService();
  await service.setKey({ clientId: 'menu-reader', scopes: ['menu'] });
  token = await service.api.token('menu-reader', 'secret');
});
afterAll(() => service?.close());

const menu = async () => (await service.api.get('/api/menu/', token)).json as Menu;
const category = (id: string, position: number) => ({
  entity: 'category' as const,
  storeId: 's1',
  id,
  data: { name: id, position, active: true },
});
const product = (id: string, change: object = {}) => ({
  entity: 'product' as const,
  storeId: 's1',
  id,
  data: { category_id: 'pizzas', name: id, price: '10.00', active: true, position: 1, ...change },
});
const group = (id: string, options: object[]) => ({
  entity: 'option_group' as const,
  storeId: 's1',
  id,
  data: { name: id, min: 0, max: 1, options },
});

it('shows a change of one option group in the menu, the product and the list, from one transaction', async () => {
  await service.apply([product('early', { option_group_ids: ['crust', 'missing'] })]);
  expect((await menu()).categories).toEqual([]);
  await service.apply([category('pizzas', 1)]);
  expect((await menu()).categories).toMatchObject([
    { id: 'pizzas', products: [{ id: 'early', option_groups: [] }] },
  ]);

  const options = [
    { id: 'b', name: 'Cheddar', price: '5.00', position: 2 },
    { id: 'a', name: 'Catupiry', price: '6.00', position: 1 },
    { id: 'off', name: 'Nenhum', price: '0.00', position: 0, active: false },
  ];
  await service.apply([group('crust', options)]);
  const [shown] = (await menu()).categories[0]?.products ?? [];
  expect(shown?.option_groups.map((one) => one.options.map(({ id }) => id))).toEqual([['a', 'b']]);
  const whole = await service.api.get('/api/product/details/?product_id=early', token);
  expect(whole.json).toMatchObject({
    option_groups: [{ id: 'crust', options: [{ id: 'off' }, { id: 'a' }, { id: 'b' }] }],
  });

  await service.apply([{ entity: 'option_group', storeId: 's1', id: 'crust' }]);
  expect((await menu()).categories[0]?.products[0]?.option_groups).toEqual([]);
  await service.apply([{ entity: 'category', storeId: 's1', id: 'pizzas' }]);
  expect(await menu()).toMatchObject({ updated_at: null, categories: [] });
  const { results } = await service.api.list('/api/product/list', token);
  expect(results).toMatchObject([{ id: 'early', category_id: 'pizzas' }]);
});

it('holds a menu that is larger than a document of MongoDB may be', { timeout: 120_000 }, async () => {
  // Of some 60 KB each.
  const groups = Array.from({ length: 8 }, (_, index) =>
    group(
      `large-${index}`,
      Array.from({ length: 6 }, (_option, at) => ({
        id: `o${at}`,
        name: 'Opção',
        price: '1.00',
        description: 'ã'.repeat(5_000),
      })),
    ),
  );
  const products = Array.from({ length: 48 }, (_, index) =>
    product(`large-${String(index).padStart(2, '0')}`, {
      category_id: 'large',
      option_group_ids: groups.map(({ id }) => id),
    }),
  );
  await service.apply([
    category('large', 9),
    category('small', 8),
    product('last', { category_id: 'small' }),
    ...groups,
  ]);
  for (let start = 0; start < products.length; start += 6)
    await service.apply(products.slice(start, start + 6));

  const { categories } = await menu();
  expect(categories.map(({ id }) => id)).toEqual(['small', 'large']);
  expect(categories[1]?.products.map(({ id }) => id)).toEqual(products.map(({ id }) => id));
  const sections = (await readModels(service.installation)).collection(MENU_SECTIONS);
  expect(await sections.countDocuments({ category_id: 'large' })).toBeGreaterThan(4);

  await service.apply(products.slice(1).map(({ entity, storeId, id }) => ({ entity, storeId, id })));
  expect((await menu()).categories[1]?.products).toHaveLength(1);
});
