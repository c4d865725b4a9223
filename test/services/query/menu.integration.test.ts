import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCategory, aGroup, aProduct } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
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
let token: string;
beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'menu-reader', scopes: ['menu'] });
});

const menu = async () => (await service.api.get('/api/menu/', token)).json as Menu;
const category = (id: string, position: number) => aCategory(id, { name: id, position });
const product = (id: string, change: object = {}) =>
  aProduct(id, { category_id: 'pizzas', name: id, price: '10.00', ...change });
const group = (id: string, options: object[]) => aGroup(id, { name: id, options });

it('shows a change of an option group in the menu, the product and the list at the same time', async () => {
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

/** Creates a store whose menu repeats a few large groups in many products. */
async function applyLarge(storeId: string, products: number, groups: number): Promise<void> {
  const of = (change: TestChange): TestChange => ({ ...change, storeId });
  const ids = Array.from({ length: groups }, (_, index) => `g${index}`);
  const options = Array.from({ length: 12 }, (_, index) => ({
    id: `o${index}`,
    name: 'Opção',
    description: 'ã'.repeat(2_400),
    price: '1.00',
  }));
  await service.apply([of(category('first', 1)), of(category('second', 2))]);
  await service.apply(ids.map((id) => of(group(id, options))));
  await service.apply(
    Array.from({ length: products }, (_, index) =>
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

it('is cached in its present state only', async () => {
  const bearer = await service.tokenOf({
    clientId: 'changing-reader',
    storeId: 'changing',
    scopes: ['menu'],
  });
  const inStore = <C extends object>(change: C) => ({ ...change, storeId: 'changing' });
  const products = Array.from({ length: 200 }, (_, index) =>
    inStore(product(`p${index}`, { description: 'x'.repeat(5_000) })),
  );
  await service.apply([inStore(category('pizzas', 1)), ...products]);
  let bytes = 0;
  const change = async (times: number) => {
    for (let time = 1; time <= times; time += 1) {
      await service.apply([inStore(product('p0', { position: time }))]);
      bytes = (await service.api.get('/api/menu/', bearer)).text.length;
    }
  };
  const held = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  await change(4);
  let before = held();
  for (let time = 0; time < 10; time += 1) {
    await sleep(20);
    before = Math.min(before, held());
  }
  const CHANGES = 12;
  await change(CHANGES);
  // Buffers of connections are freed after a while; the cache stays.
  await eventually('what was before is gone', () => held() - before < (CHANGES / 3) * bytes);
  expect(bytes).toBeGreaterThan(900_000);
});

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
        expect(groups.map(({ options }) => options.length)).toEqual(
          Array.from({ length: 10 }, () => 12),
        );
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

  it('supports compression, HEAD and 304', async () => {
    const plain = await readAll(await askLarge(bearer));
    const packed = await askLarge(bearer, { 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(await readAll(packed)).equals(plain)).toBe(true);

    for (let round = 0; round < 20; round += 1) {
      const head = await askLarge(bearer, {}, 'HEAD');
      expect([head.statusCode, head.headers['etag']]).toEqual([200, packed.headers['etag']]);
      expect(await readAll(head)).toHaveLength(0);
      const condition = round % 2 === 0 ? (packed.headers['etag'] ?? '') : '*';
      const same = await askLarge(bearer, { 'if-none-match': condition });
      expect(same.statusCode).toBe(304);
      expect(await readAll(same)).toHaveLength(0);
    }
  });

  it('is sent to other clients after some disconnect in the middle', async () => {
    for (let round = 0; round < 6; round += 1) {
      const headers: Record<string, string> = round % 2 === 0 ? {} : { 'accept-encoding': 'gzip' };
      const [one, other] = await Promise.all([
        askLarge(bearer, headers),
        askLarge(bearer, headers),
      ]);
      one.destroy();
      other.destroy();
    }
    const { statusCode } = await askLarge(bearer).then(async (response) => {
      await readAll(response);
      return response;
    });
    expect(statusCode).toBe(200);
  });
});

it('takes the slot of the slowest reader, and of no other, if a menu of another store needs one', async () => {
  const stores = Array.from({ length: 5 }, (_, index) => `slow${index}`);
  const bearers: string[] = [];
  for (const storeId of stores) {
    bearers.push(
      await service.tokenOf({ clientId: `${storeId}-reader`, storeId, scopes: ['menu'] }),
    );
    await applyLarge(storeId, 50, 10);
  }
  const [own = '', ...others] = bearers;
  const slow: IncomingMessage[] = [];
  for (const bearer of others) {
    // The first read finds that it is too large for the cache.
    await readAll(await askLarge(bearer));
    slow.push(await askLarge(bearer), await askLarge(bearer));
  }
  // 0.4 MB/s each: a client that reads nothing would be cut anyway.
  const trickle = setInterval(() => {
    for (const response of slow) response.read(16_384);
  }, 40);
  expect(slow.map(({ statusCode }) => statusCode)).toEqual(slow.map(() => 200));
  // All slots are taken, by clients that read slowly.
  await eventually('the menu is answered', async () => {
    const response = await askLarge(own);
    const { length } = await readAll(response);
    return response.statusCode === 200 && length > 25_165_824;
  });
  clearInterval(trickle);
  const ends = await Promise.allSettled(slow.map(readAll));
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
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
    for (let round = 0; round < 12; round += 1) {
      const price = `${round}.00`;
      const changes = [
        of(product('p', { option_group_ids: ['crust'], price })),
        of(group('crust', [{ id: 'o', name: 'Catupiry', price }])),
        of({ ...category('pizzas', round), data: { name: price, position: 1, active: true } }),
      ];
      const changed = changes[round % 3] ?? category('none', 1);
      await service.apply([changed]);
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => service.api.get('/api/menu/', bearer)),
      );
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
    expect(etags.size).toBe(12);
  });
});
