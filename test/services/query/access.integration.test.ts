import { beforeAll, describe, expect, it } from 'vitest';
import { storeAccessEvent } from '#test/events.ts';
import { anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { type ErrorAnswer, remainingOf } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { startAppWith } from '#test/query-service.ts';
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

beforeAll(async () => {
  await service.setKey({ clientId: 'full' });
  await service.apply([aStore(), anOrder('o1')]);
});

const tokenWith = (scopes: readonly string[]) =>
  service.api.token('full', 'secret', `grant_type=client_credentials&scope=${scopes.join('+')}`);

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

  it('checks the token before each of its scopes, these before the parameters, and these before the record', async () => {
    for (const route of dataRoutes(service.app)) {
      const { scopes } = route;
      const path = targetOf(route, 'o1');
      const wrong = targetOf(route, 'o1', ['nonsense=1']);
      const exact = await tokenWith(scopes);
      const ask = async (target: string, bearer: string, status: number) => {
        const answer = await service.api.get(target, bearer);
        expect([target, answer.status]).toEqual([target, status]);
        return answer;
      };
      await ask(wrong, 'x', 401);
      for (const missing of scopes) {
        const held = SCOPES.filter((scope) => scope !== missing);
        const { headers, json } = await ask(wrong, await tokenWith(held), 403);
        expect(headers.get('www-authenticate')).toBe(
          `Bearer realm="store-data", error="insufficient_scope", scope="${scopes.join(' ')}"`,
        );
        const { detail } = json as ErrorAnswer;
        expect(detail.match(/\b(?:store|crm|order|menu)\b/g)).toEqual([missing]);
      }
      await ask(wrong, exact, 422);
      // Most kinds have no record here: a 404 proves that the checks passed, too.
      const isMissing = path.includes('/details/') && !path.startsWith('/api/order/');
      await ask(path, exact, isMissing ? 404 : 200);
      expect((await service.api.call(path, { method: 'HEAD' })).status).toBe(401);
    }
  });
});

it('path and method are checked before the token', async () => {
  for (const path of words('/api/order/list/ /api/order/details?order_id=o1 /API/order/list /'))
    expect((await service.api.call(path)).status).toBe(404);
  for (const path of words('/api/order/list?x=1 /api/store/info/ /health')) {
    const { status, headers } = await service.api.call(path, { method: 'POST', body: '{' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
});

it('the quota counts every request with a valid token, also 403, 404, 422, 304 and 429, and no other', async () => {
  const settings = { QUOTA_REQUESTS: '7', QUOTA_WINDOW_SECONDS: '60' };
  await using small = await startAppWith(service.installation, settings);
  await service.setKey({ clientId: 'q1', storeId: 'quota' });
  await service.setKey({ clientId: 'q2', storeId: 'quota', scopes: ['crm'] });
  const { api } = small;
  const [first, second] = [await api.token('q1', 'secret'), await api.token('q2', 'secret')];
  const revoked = await api.token('q1', 'secret');
  const { session } = service.inRedis('quota');
  await service.installation.redis.del(session(String(opened(revoked).claims['jti'])));

  const listed = await api.get('/api/order/list', first);
  const etag = listed.headers.get('etag') ?? '';
  expect(listed.headers.get('ratelimit-policy')).toBe('"store";q=7;w=60');
  // An invalid token gets 401 even with an exhausted quota.
  const invalid = [revoked, 'x', `${first}x`, ''].map((bearer) => [bearer, '/api/order/list', 401]);
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
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter > 0 && retryAfter <= 60).toBe(true);
    expect(answer.headers.get('ratelimit')).toBe(`"store";r=0;t=${retryAfter}`);
  }
});

describe('takes effect immediately:', () => {
  const statusNow = async (own: string, path = '/api/order/list') =>
    (await service.api.get(path, own)).status;

  it('a change of the key’s scopes in both directions, within the token’s scopes', async () => {
    await service.setKey({ clientId: 'moving', scopes: ['order', 'crm'] });
    const form = 'grant_type=client_credentials&scope=order';
    const own = await service.api.token('moving', 'secret', form);
    await service.setKey({ clientId: 'moving', scopes: ['crm', 'store'] });
    expect(await statusNow(own)).toBe(403);
    expect(await statusNow(own, '/api/store/info/')).toBe(403);
    await service.setKey({ clientId: 'moving', scopes: ['order'] });
    expect(await statusNow(own)).toBe(200);
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
      await eventually('it takes effect', async () => (await statusNow(own)) === status);
    }
  });

  it('the deactivation and activation of a key, and what MongoDB says of one whose grant Redis lost', async () => {
    const key = { clientId: 'lost', storeId: 'lost' };
    const own = await service.tokenOf(key);
    const { grant, storeAccess } = service.inRedis('lost');
    const lose = () => service.installation.redis.del(grant('lost'), storeAccess);
    await lose();
    expect(await statusNow(own)).toBe(200);
    await service.setKey({ ...key, status: 'inactive' });
    await lose();
    expect(await statusNow(own)).toBe(401);
    await service.setKey(key);
    expect(await statusNow(own)).toBe(200);
    await service.control.keys.deleteOne({ _id: 'lost' });
    // The projector may still publish an earlier read.
    await eventually('the key is refused', async () => {
      await lose();
      return (await statusNow(own)) === 401;
    });
  });
});
