import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCategory, aGroup, aProduct } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { type TestChange } from '#test/query-service.ts';

interface Menu {
  updated_at: string | null;
  categories: { id: string; name: string; products: MenuProduct[] }[];
}

interface MenuProduct {
  id: string;
  price: string;
  option_groups: { options: { id: string; price: string }[] }[];
}

const service = useQueryService();

const category = (id: string, position: number) => aCategory(id, { name: id, position });
const product = (id: string, change: object = {}) =>
  aProduct(id, { category_id: 'pizzas', name: id, price: '10.00', ...change });
const group = (id: string, options: object[]) => aGroup(id, { name: id, options });

/** Creates a store whose menu repeats a few large groups in many products. */
async function applyLarge(storeId: string, products: number, groups: number): Promise<void> {
  const of = (change: TestChange): TestChange => ({ ...change, storeId });
  const ids = times(groups, (index) => `g${index}`);
  const options = times(12, (index) => ({
    id: `o${index}`,
    name: 'Opção',
    description: 'ã'.repeat(2_400),
    price: '1.00',
  }));
  await service.apply([of(category('first', 1)), of(category('second', 2))]);
  await service.apply(ids.map((id) => of(group(id, options))));
  await service.apply(
    times(products, (index) =>
      of(
        product(`p${String(index).padStart(4, '0')}`, {
          category_id: index % 2 === 0 ? 'first' : 'second',
          option_group_ids: ids,
        }),
      ),
    ),
  );
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** A paused response. */
function askLarge(bearer: string, headers: object = {}, method = 'GET'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...headers },
      agent: false,
    };
    request(`${service.url}/api/menu/`, options, (response) => {
      response.pause();
      resolve(response);
    })
      .on('error', reject)
      .end();
  });
}

const collectGarbage = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

describe('a menu of some 70 MB', () => {
  const PRODUCTS = 120;
  let bearer: string;
  beforeAll(async () => {
    bearer = await service.tokenOf({
      clientId: 'large-reader',
      storeId: 'large',
      scopes: ['menu'],
    });
    await applyLarge('large', PRODUCTS, 10);
  });

  it('is streamed, with backpressure and bounded memory', async () => {
    // The first read finds that it is too large for the cache.
    await readAll(await askLarge(bearer));
    collectGarbage();
    const before = process.memoryUsage();
    const responses = await Promise.all([askLarge(bearer), askLarge(bearer)]);
    for (const { statusCode, headers } of responses) {
      expect(statusCode).toBe(200);
      expect(headers['content-length']).toBeUndefined();
      expect(headers['etag']).toMatch(/^W\/"/);
    }
    // The clients do not read: their connections' buffers are full.
    await eventually('the streams wait', async () => {
      const seen = responses.map(({ socket }) => socket.bytesRead);
      await sleep(300);
      return responses.every(({ socket }, index) => socket.bytesRead === seen[index]);
    });
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    expect(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(60e6);

    const texts = await Promise.all(
      responses.map(async (response) => (await readAll(response)).toString()),
    );
    expect(texts[1]).toBe(texts[0]);
    expect(texts[0]?.length).toBeGreaterThan(30e6);
    const menu = JSON.parse(texts[0] ?? '') as Menu;
    expect(menu.categories.map(({ id, products }) => [id, products.length])).toEqual([
      ['first', PRODUCTS / 2],
      ['second', PRODUCTS / 2],
    ]);
    for (const { products } of menu.categories) {
      for (const { option_groups: groups } of products) {
        expect(groups.map(({ options }) => options.length)).toEqual(times(10, () => 12));
      }
    }
  });

  it('is one snapshot despite changes during the response', async () => {
    const response = await askLarge(bearer);
    await service.apply([
      { ...group('g9', []), storeId: 'large' },
      { entity: 'category', storeId: 'large', id: 'second' },
    ]);
    const menu = JSON.parse((await readAll(response)).toString()) as Menu;
    expect(menu.categories.map(({ products }) => products.length)).toEqual([
      PRODUCTS / 2,
      PRODUCTS / 2,
    ]);
    expect(menu.categories[1]?.products.at(-1)?.option_groups[9]?.options).toHaveLength(12);
    const after = JSON.parse((await readAll(await askLarge(bearer))).toString()) as Menu;
    expect(after.categories.map(({ products }) => products.length)).toEqual([PRODUCTS / 2]);
    expect(after.categories[0]?.products[0]?.option_groups[9]?.options).toEqual([]);
  });
});

describe('a cached menu', () => {
  it('is rebuilt after every change that it shows, with concurrent requests', async () => {
    const bearer = await service.tokenOf({
      clientId: 'kept-reader',
      storeId: 'kept',
      scopes: ['menu'],
    });
    const of = (change: TestChange): TestChange => ({ ...change, storeId: 'kept' });
    await service.apply([
      of(category('pizzas', 1)),
      of(group('crust', [])),
      of(product('p', { option_group_ids: ['crust'] })),
    ]);
    const etags = new Set<string | null>();
    for (let round = 0; round < 6; round += 1) {
      const price = `${round}.00`;
      const changes = [
        of(product('p', { option_group_ids: ['crust'], price })),
        of(group('crust', [{ id: 'o', name: 'Catupiry', price }])),
        of({ ...category('pizzas', round), data: { name: price, position: 1, active: true } }),
      ];
      const changed = changes[round % 3] ?? category('none', 1);
      await service.apply([changed]);
      const answers = await Promise.all(times(8, () => service.api.get('/api/menu/', bearer)));
      for (const { json, headers } of answers) {
        const [shown] = (json as Menu).categories;
        const said = [
          shown?.products[0]?.price,
          shown?.products[0]?.option_groups[0]?.options[0]?.price,
          shown?.name,
        ];
        expect(said[round % 3]).toBe(price);
        etags.add(headers.get('etag'));
      }
    }
    expect(etags.size).toBe(6);
  });
});
