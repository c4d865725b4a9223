import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCustomer, anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';

const service = useQueryService();
let token: string;

const PATHS = [
  '/api/store/info/',
  '/api/order/list',
  '/api/order/list?page_size=5&status=pending',
  '/api/order/details/?order_id=o1',
  '/api/customer/list',
  '/api/customer/list?search=ana',
  '/api/customer/order-list/?customer_id=c1',
];

beforeAll(async () => {
  token = await service.tokenFor('s1');
  await service.apply([
    aStore(),
    aCustomer('c1'),
    ...times(12, (index) => anOrder(`o${index}`, { customer: { id: 'c1', name: 'Ana' } })),
  ]);
});

const tagOf = async (path: string) => (await service.get(path)).headers.get('etag') ?? '';

describe('If-None-Match', () => {
  it.each(PATHS)('gives 304 without a body for %s, and other tags give 200', async (path) => {
    const etag = await tagOf(path);
    for (const [condition, status] of [
      [etag, 304],
      [etag.slice(2), 304],
      [`W/"a",${etag.slice(2)} , "b"`, 304],
      [' * ', 304],
      ['W/"x"', 200],
      [etag.slice(3, -1), 200],
      ['"*"', 200],
      ['"a", *', 200],
      ['', 200],
    ] as const) {
      const answer = await service.get(path, 's1', { 'if-none-match': condition });
      expect([condition, answer.status, answer.text === '']).toEqual([
        condition,
        status,
        status === 304,
      ]);
      expect(answer.headers.get('etag')).toBe(etag);
    }
  });

  it('is evaluated after all checks except the record’s', async () => {
    const path = '/api/order/details/?order_id=';
    const etag = await tagOf(`${path}o1`);
    const crm = await service.tokenOf({ clientId: 'crm', scopes: ['crm'] });
    for (const [id, bearer, condition, expected] of [
      ['o1', 'x', etag, 401],
      ['o1', crm, etag, 403],
      ['o1&x=1', token, etag, 422],
      ['missing', token, etag, 404],
      ['missing', token, '*', 404],
    ] as const) {
      const headers = { 'if-none-match': condition };
      const { status } = await service.api.get(path + id, bearer, headers);
      expect([id, condition, status]).toEqual([id, condition, expected]);
    }
  });

  it('has a different tag after each change that the answer shows, and only after these', async () => {
    const tagsOf = async () =>
      new Map(await Promise.all(PATHS.map(async (path) => [path, await tagOf(path)] as const)));
    const before = await tagsOf();
    await service.apply([anOrder('o1', { status: 'ready', customer: { id: 'c1', name: 'Ana' } })]);
    const changed = await tagsOf();
    for (const path of PATHS)
      expect(changed.get(path) !== before.get(path), path).toEqual(path.includes('order'));
    // The deletion also removes the name from orders.
    await service.apply([{ entity: 'customer', storeId: 's1', id: 'c1' }]);
    for (const path of ['/api/customer/list', '/api/order/list'])
      expect((await tagOf(path)) === changed.get(path), path).toBe(false);
  });
});

it('HEAD answers like GET, without the body', async () => {
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' };
  for (const path of PATHS) {
    const get = await service.api.get(path, token, headers);
    const head = await service.api.call(path, { method: 'HEAD', headers });
    expect([path, head.status, head.text]).toEqual([path, 200, '']);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'vary'])
      expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
  }
});

describe('compression', () => {
  /** `fetch` would ask for an encoding by itself, and decode the body. */
  async function ask(path: string, acceptEncoding?: string, method = 'GET') {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
    };
    const sent = request(service.url + path, { method, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { headers: response.headers, body: await buffer(response) };
  }

  it('is applied as requested if the body exceeds 1 KiB', async () => {
    const plain = await ask('/api/order/list', undefined);
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const [asked, given] of [
      ['gzip', 'gzip'],
      ['br', 'br'],
      ['br;q=0.1, gzip', 'gzip'],
      ['*', 'gzip'],
      ['br;q=0, gzip;q=0, *', undefined],
      ['identity', undefined],
      ['deflate, zstd', undefined],
      ['', undefined],
    ] as const) {
      const { headers, body } = await ask('/api/order/list', asked);
      expect(headers['content-encoding'], asked).toEqual(given);
      const read =
        given === 'gzip' ? gunzipSync(body) : given === 'br' ? brotliDecompressSync(body) : body;
      expect(read.equals(plain.body)).toBe(true);
      expect(headers['etag']).toBe(plain.headers['etag']);
    }
    const head = await ask('/api/order/list', 'gzip', 'HEAD');
    expect([head.headers['content-encoding'], head.body.length]).toEqual(['gzip', 0]);
  });

  it('is not applied to small bodies', async () => {
    const { headers } = await ask('/api/order/list?page_size=1', 'gzip, br');
    expect(headers['content-encoding']).toBeUndefined();
  });
});
