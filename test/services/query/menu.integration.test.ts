import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer, json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCategory, aGroup, aProduct, gone } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';

interface Menu {
  categories: {
    id: string;
    name: string;
    products: {
      price: string;
      option_groups: { options: { price: string }[] }[];
    }[];
  }[];
}

const PRODUCTS = 120;

const service = useQueryService();

/** Creates a store whose menu repeats a few large groups in many products. */
async function applyLarge(storeId: string) {
  const option = { name: 'Opção', description: 'ã'.repeat(2_400), price: '1.00' };
  const options = times(12, (index) => ({ ...option, id: `o${index}` }));
  const groups = times(10, (index) => aGroup(`g${index}`, { options }, storeId));
  const option_group_ids = groups.map(({ id }) => id);
  await service.apply([
    aCategory('first', { position: 1 }, storeId),
    aCategory('second', { position: 2 }, storeId),
    ...groups,
    ...times(PRODUCTS, (index) =>
      aProduct(
        `p${String(index).padStart(4, '0')}`,
        { category_id: index % 2 === 0 ? 'first' : 'second', option_group_ids },
        storeId,
      ),
    ),
  ]);
}

/** A paused response. */
async function askLarge(bearer: string) {
  const headers = { authorization: `Bearer ${bearer}` };
  const sent = request(`${service.url}/api/menu/`, { headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response.pause();
}

const readMenu = async (response: IncomingMessage) => (await json(response)) as Menu;

const collectGarbage = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

describe('a menu of some 70 MB', () => {
  let bearer: string;
  beforeAll(async () => {
    bearer = await service.tokenFor('large');
    await applyLarge('large');
  });

  it('is streamed, with backpressure and bounded memory', async () => {
    // The first read finds that it is too large for the cache.
    await buffer(await askLarge(bearer));
    collectGarbage();
    const before = process.memoryUsage();
    const responses = await Promise.all([askLarge(bearer), askLarge(bearer)]);
    for (const { statusCode, headers } of responses) {
      expect(statusCode).toBe(200);
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

    const menus = await Promise.all(responses.map(readMenu));
    expect(menus[1]).toEqual(menus[0]);
    expect(menus[0]?.categories.map(({ id, products }) => [id, products.length])).toEqual([
      ['first', PRODUCTS / 2],
      ['second', PRODUCTS / 2],
    ]);
    const groups = menus[0]?.categories[1]?.products.at(-1)?.option_groups ?? [];
    expect(groups.map(({ options }) => options.length)).toEqual(times(10, () => 12));
  });

  it('is one snapshot despite changes during the response', async () => {
    const response = await askLarge(bearer);
    await service.apply([aGroup('g9', {}, 'large'), gone(aCategory('second', {}, 'large'))]);
    const shown = ({ categories }: Menu) =>
      categories.map(({ products }) => products.at(-1)?.option_groups[9]?.options.length);
    expect(shown(await readMenu(response))).toEqual([12, 12]);
    expect(shown(await readMenu(await askLarge(bearer)))).toEqual([0]);
  });
});

it('a cached menu is rebuilt after every change that it shows, without inactive options, with concurrent requests', async () => {
  const group = aGroup('crust');
  const product = { category_id: 'pizzas', option_group_ids: ['crust'] };
  const off = { id: 'off', name: 'Cheddar', price: '0.50', active: false };
  await service.apply([aCategory('pizzas'), group, aProduct('p', product)]);
  const etags = new Set<string | null>();
  for (let round = 0; round < 6; round += 1) {
    const price = `${round}.00`;
    const changes = [
      aProduct('p', { ...product, price }),
      aGroup('crust', { options: [off, { id: 'on', name: 'Catupiry', price }] }),
      aCategory('pizzas', { name: price }),
    ];
    await service.apply([changes[round % 3] ?? group]);
    const answers = await Promise.all(times(8, () => service.get('/api/menu/')));
    for (const { json, headers } of answers) {
      const [shown] = (json as Menu).categories;
      const [made] = shown?.products ?? [];
      const said = [made?.price, made?.option_groups[0]?.options[0]?.price, shown?.name];
      expect(said[round % 3]).toBe(price);
      etags.add(headers.get('etag'));
    }
  }
  expect(etags.size).toBe(6);
});
