import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCustomer, anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';

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
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply([
    aStore(),
    aCustomer('c1'),
    ...Array.from({ length: 12 }, (_, index) =>
      anOrder(`o${index}`, { customer: { id: 'c1', name: 'Ana' } }),
    ),
  ]);
});

const tagOf = async (path: string) =>
  (await service.api.get(path, token)).headers.get('etag') ?? '';

describe('If-None-Match', () => {
  it.each(PATHS)('gives 304 without a body for %s, and other tags give 200', async (path) => {
    const answer = await service.api.get(path, token);
    const etag = answer.headers.get('etag') ?? '';
    for (const condition of [etag, etag.slice(2), `W/"a",${etag.slice(2)} , "b"`, ' * ']) {
      const again = await service.api.get(path, token, { 'if-none-match': condition });
      expect([condition, again.status, again.text]).toEqual([condition, 304, '']);
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('content-type')).toBeNull();
    }
    for (const condition of ['W/"x"', etag.slice(3, -1), '"*"', '"a", *', '']) {
      const again = await service.api.get(path, token, { 'if-none-match': condition });
      expect([condition, again.status, again.text]).toEqual([condition, 200, answer.text]);
    }
  });

  it('is evaluated after all checks except the record’s', async () => {
    const etag = await tagOf('/api/order/details/?order_id=o1');
    const ask = async (path: string, own: string, condition = etag) =>
      (await service.api.get(path, own, { 'if-none-match': condition })).status;
    expect(await ask('/api/order/details/?order_id=o1', 'x')).toBe(401);
    const crm = await service.api.token(
      'full',
      'secret',
      'grant_type=client_credentials&scope=crm',
    );
    expect(await ask('/api/order/details/?order_id=o1', crm)).toBe(403);
    expect(await ask('/api/order/details/?order_id=o1&x=1', token)).toBe(422);
    expect(await ask('/api/order/details/?order_id=missing', token)).toBe(404);
    expect(await ask('/api/order/details/?order_id=missing', token, '*')).toBe(404);
  });

  it('has a different tag for each question, store and state', async () => {
    const tagsOf = async (paths: readonly string[]) =>
      new Map(await Promise.all(paths.map(async (path) => [path, await tagOf(path)] as const)));
    const before = await tagsOf([...PATHS, '/api/order/list?page=2', '/api/customer/order-list/']);
    expect(new Set(before.values()).size).toBe(before.size);
    // The same question in other words.
    expect(await tagOf('/api/order/list?page=1&page_size=20')).toBe(before.get('/api/order/list'));
    const other = await service.tokenOf({ clientId: 'other', storeId: 's2' });
    expect((await service.api.get('/api/order/list', other)).headers.get('etag')).not.toBe(
      before.get('/api/order/list'),
    );
    await service.apply([anOrder('o1', { status: 'ready', customer: { id: 'c1', name: 'Ana' } })]);
    const changed = await tagsOf(PATHS);
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
    const [get, head] = await Promise.all([
      service.api.get(path, token, headers),
      service.api.call(path, { method: 'HEAD', headers }),
    ]);
    expect([path, head.status, head.text]).toEqual([path, 200, '']);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'vary'])
      expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
    const condition = { ...headers, 'if-none-match': get.headers.get('etag') ?? '' };
    expect((await service.api.call(path, { method: 'HEAD', headers: condition })).status).toBe(304);
  }
});

describe('compression', () => {
  const ask = (path: string, acceptEncoding: string | undefined, method = 'GET') =>
    new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
      };
      const request = httpRequest(`${service.url}${path}`, { method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ headers: response.headers, body: Buffer.concat(chunks) }),
        );
      });
      request.on('error', reject).end();
    });

  it('is applied as requested if the body exceeds 1 KiB', async () => {
    const plain = await ask('/api/order/list', undefined);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.body.length).toBeGreaterThan(1_024);
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
      expect(headers['vary']).toMatch(/accept-encoding/);
      const read =
        given === 'gzip' ? gunzipSync(body) : given === 'br' ? brotliDecompressSync(body) : body;
      expect(read.equals(plain.body)).toBe(true);
      expect(headers['etag']).toBe(plain.headers['etag']);
      if (given !== undefined) expect(body.length).toBeLessThan(plain.body.length);
    }
    const head = await ask('/api/order/list', 'gzip', 'HEAD');
    expect([head.headers['content-encoding'], head.body.length]).toEqual(['gzip', 0]);
  });

  it('is not applied to small bodies', async () => {
    const { headers } = await ask('/api/order/list?page_size=1', 'gzip, br');
    expect(headers['content-encoding']).toBeUndefined();
  });
});
