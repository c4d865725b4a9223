import { beforeAll, describe, expect, it } from 'vitest';
import { storeAccessEvent } from '#test/events.ts';
import { anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { type Answer, type ErrorAnswer, remainingOf } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { startApp } from '#test/query-service.ts';
import { words } from '#test/words.ts';
import { dataRoutes, targetOf } from '../../security/data-routes.ts';
import { opened } from '../../security/forge.ts';

const SCOPES = ['store', 'crm', 'order', 'menu'] as const;

/** Rule R2.1: paths by scope. */
const PATHS = {
  '-': words('/health /openapi.json /'),
  store: words(
    '/api/store/info/ /api/coupon/list /api/coupon/details/ /api/store/changes /api/coupon/changes',
  ),
  crm: words(
    '/api/customer/list /api/review/list /api/review/details/ /api/campaign/list /api/campaign/details/',
    '/api/customer/changes /api/review/changes /api/campaign/changes',
  ),
  order: words('/api/order/list /api/order/details/ /api/order/changes'),
  menu: words(
    '/api/menu/ /api/category/list /api/category/details/ /api/product/list /api/product/details/',
    '/api/option-group/list /api/category/changes /api/product/changes /api/option-group/changes',
  ),
  'crm+order': ['/api/customer/order-list/'],
  'store+crm+order+menu': ['/api/changes'],
};

const service = useQueryService();
let token: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply([aStore(), anOrder('o1')]);
});

const codeOf = ({ status, json }: Answer) => [status, (json as ErrorAnswer).code];

const ofScopes = new Map<string, string>();
async function tokenWith(scopes: readonly string[]): Promise<string> {
  const scope = scopes.join('+');
  const known = ofScopes.get(scope);
  if (known !== undefined) return known;
  const made = await service.api.token(
    'full',
    'secret',
    `grant_type=client_credentials&scope=${scope}`,
  );
  ofScopes.set(scope, made);
  return made;
}

/** Every data endpoint with its required parameters, by both methods. */
const calls = () =>
  dataRoutes(service.app).flatMap((route) =>
    ['GET', 'HEAD'].map((method) => ({
      method,
      path: targetOf(route, 'o1'),
      scopes: route.scopes,
    })),
  );

describe('every route', () => {
  it('has the scopes of rule R2.1', () => {
    const table = service.app.routes.map(({ method, path, operation }) => {
      return `${operation?.security[0]?.['accessToken']?.join('+') ?? '-'} ${method} ${path}`;
    });
    const reads = Object.entries(PATHS).flatMap(([scopes, paths]) =>
      paths.map((path) => `${scopes} GET ${path}`),
    );
    const expected = ['- POST /api/auth/token/', ...reads];
    // `docs.integration.test.ts` covers the pages.
    expect(table.filter((row) => !row.startsWith('- GET /docs')).toSorted()).toEqual(
      expected.toSorted(),
    );
  });

  it('refuses a token without any one of its scopes, and accepts one with exactly these', async () => {
    for (const { method, path, scopes } of calls()) {
      for (const missing of scopes) {
        const held = SCOPES.filter((scope) => scope !== missing);
        const other = await tokenWith(held);
        const answer = await service.api.call(path, {
          method,
          headers: { authorization: `Bearer ${other}` },
        });
        expect([method, path, answer.status]).toEqual([method, path, 403]);
        expect(answer.headers.get('www-authenticate')).toBe(
          `Bearer realm="store-data", error="insufficient_scope", scope="${scopes.join(' ')}"`,
        );
        if (method !== 'HEAD') {
          const { code, detail } = answer.json as ErrorAnswer;
          expect(code).toBe('insufficient_scope');
          expect(detail).toContain(missing);
          for (const scope of held) expect(detail).not.toContain(scope);
        }
      }
      const headers = { authorization: `Bearer ${await tokenWith(scopes)}` };
      const answer = await service.api.call(path, { method, headers });
      // Most kinds have no record here: a 404 proves that the checks passed, too.
      const passed = path.includes('/details/') && !path.startsWith('/api/order/') ? 404 : 200;
      expect([method, path, answer.status]).toEqual([method, path, passed]);
    }
  });

  it('checks the token before the scope, the scope before the parameters and these before the record', async () => {
    for (const { method, path, scopes } of calls()) {
      const wrong = `${path}${path.includes('?') ? '&' : '?'}nonsense=1`;
      const poor = await tokenWith(SCOPES.filter((scope) => scope !== scopes[0]));
      for (const [given, status] of [
        ['x', 401],
        [poor, 403],
        [token, 422],
      ] as const) {
        const headers = { authorization: `Bearer ${given}` };
        const answer = await service.api.call(wrong, { method, headers });
        expect([method, wrong, answer.status]).toEqual([method, wrong, status]);
      }
    }
  });
});

it('path and method are checked before the token', async () => {
  for (const path of words('/api/order/list/ /api/order/details?order_id=o1 /API/order/list /'))
    expect(codeOf(await service.api.call(path))).toEqual([404, 'not_found']);
  for (const path of words('/api/order/list?x=1 /api/store/info/ /health')) {
    const answer = await service.api.call(path, { method: 'POST', body: '{' });
    expect(codeOf(answer)).toEqual([405, 'method_not_allowed']);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  }
});

describe('the quota', () => {
  it('counts every request with a valid token, also 403, 404, 422, 304 and 429, and no other', async () => {
    const { config } = service.installation;
    await using small = await startApp({
      ...config,
      query: { ...config.query, quota: { requests: 7, windowSeconds: 60 } },
    });
    await service.setKey({ clientId: 'q1', storeId: 'quota' });
    await service.setKey({ clientId: 'q2', storeId: 'quota', scopes: ['crm'] });
    const { api } = small;
    const [first, second] = [await api.token('q1', 'secret'), await api.token('q2', 'secret')];
    const revoked = await api.token('q1', 'secret');
    const keys = service.inRedis('quota');
    await service.installation.redis.del(keys.session(String(opened(revoked).claims['jti'])));

    const listed = await api.get('/api/order/list', first);
    const etag = listed.headers.get('etag') ?? '';
    expect(listed.headers.get('ratelimit-policy')).toBe('"store";q=7;w=60');
    // An invalid token gets 401 even with an exhausted quota.
    const invalid = [revoked, 'x', `${first}x`, ''].map((bearer) => [
      bearer,
      '/api/order/list',
      401,
    ]);
    for (const [bearer, path, status, left, method = 'GET'] of [
      ...invalid,
      ['', '/nope', 404],
      [second, '/api/order/list', 403, 5],
      [first, '/api/order/list?x', 422, 4],
      [first, '/api/order/details/?order_id=no', 404, 3],
      [first, '/api/order/list', 304, 2],
      [first, '/api/order/list', 304, 1, 'HEAD'],
      [first, '/api/order/list', 304, 0],
      [second, '/api/order/list', 429, 0],
      ...invalid,
    ] as const) {
      const headers = { authorization: `Bearer ${bearer}`, 'if-none-match': etag };
      const answer = await api.call(String(path), { method: String(method), headers });
      const found = answer.headers.has('ratelimit') ? remainingOf(answer) : undefined;
      expect([path, answer.status, found]).toEqual([path, status, left]);
      if (status !== 429) continue;
      expect(codeOf(answer)).toEqual([429, 'rate_limit_exceeded']);
      const retryAfter = Number(answer.headers.get('retry-after'));
      expect(retryAfter > 0 && retryAfter <= 60).toBe(true);
      expect(answer.headers.get('ratelimit')).toBe(`"store";r=0;t=${retryAfter}`);
    }
    expect(await service.installation.redis.get(keys.quota(60))).toBe('8');
    // Another store is not affected.
    await service.setKey({ clientId: 'q4', storeId: 'calm' });
    expect((await api.get('/api/order/list', await api.token('q4', 'secret'))).status).toBe(200);
  });
});

describe('takes effect immediately:', () => {
  const statusNow = async (path: string, own: string) => (await service.api.get(path, own)).status;

  it('a change of the key’s scopes in both directions, within the token’s scopes', async () => {
    await service.setKey({ clientId: 'moving', scopes: ['order', 'crm'] });
    const own = await service.api.token(
      'moving',
      'secret',
      'grant_type=client_credentials&scope=order',
    );
    expect(await statusNow('/api/order/list', own)).toBe(200);
    await service.setKey({ clientId: 'moving', scopes: ['crm', 'store'] });
    expect(await statusNow('/api/order/list', own)).toBe(403);
    expect(await statusNow('/api/store/info/', own)).toBe(403);
    await service.setKey({ clientId: 'moving', scopes: ['order'] });
    expect(await statusNow('/api/order/list', own)).toBe(200);
  });

  it('the deactivation, activation and revocation of a key', async () => {
    const own = await service.tokenOf({ clientId: 'dying' });
    for (const [status, answered] of [
      ['inactive', 401],
      ['active', 200],
      ['revoked', 401],
    ] as const) {
      await service.setKey({ clientId: 'dying', status });
      expect(await statusNow('/api/order/list', own)).toBe(answered);
    }
    expect((await service.api.askToken('dying', 'secret')).status).toBe(401);
  });

  it('the blocking of a store by an event or by its own record', async () => {
    const own = await service.tokenOf({ clientId: 'guest', storeId: 'inn' });
    const blockedByEvent = (sequence: number, status: 'active' | 'blocked') =>
      service.installation.publishAccess([storeAccessEvent('inn', sequence, status)]);
    for (const [change, status] of [
      [() => blockedByEvent(1, 'blocked'), 401],
      [() => blockedByEvent(2, 'active'), 200],
      [() => service.apply([aStore('inn', { status: 'blocked' })]), 401],
      [() => service.apply([aStore('inn')]), 200],
    ] as const) {
      await change();
      await eventually(
        'it takes effect',
        async () => (await statusNow('/api/order/list', own)) === status,
      );
    }
  });
});

describe('a grant that Redis lost', () => {
  it('is loaded from MongoDB and restored', async () => {
    const { redis } = service.installation;
    const own = await service.tokenOf({ clientId: 'lost', storeId: 'lost', scopes: ['order'] });
    const keys = service.inRedis('lost');
    await redis.del(keys.grant('lost'), keys.storeAccess);
    expect((await service.api.get('/api/order/list', own)).status).toBe(200);
    expect(await redis.zrange(keys.grant('lost'), '0', '-1')).toEqual(['active order']);
    expect(await redis.zrange(keys.storeAccess, '0', '-1')).toEqual(['active']);

    await redis.del(keys.grant('lost'));
    await service.setKey({ clientId: 'lost', storeId: 'lost', status: 'inactive' });
    await redis.del(keys.grant('lost'));
    expect((await service.api.get('/api/order/list', own)).status).toBe(401);
  });

  it('is refused if MongoDB has no key', async () => {
    const own = await service.tokenOf({ clientId: 'erased', storeId: 'erased' });
    await service.control.keys.deleteOne({ _id: 'erased' });
    // The projector may still publish an earlier read.
    await eventually('the key is refused', async () => {
      await service.installation.redis.del(service.inRedis('erased').grant('erased'));
      return (await service.api.get('/api/order/list', own)).status === 401;
    });
  });
});
