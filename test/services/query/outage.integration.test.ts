/**
 * Redis and MongoDB hang or are unreachable: 503 within a second, never a false 200, 401 or 429,
 * and automatic recovery.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { anOrder } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { type Answer, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { DEFAULT_TIMEOUTS, quickOnce } from '#test/patience.ts';
import { startAppWith } from '#test/query-service.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';
import type { TcpProxy } from '#test/tcp-proxy.ts';

const ALLOWED_MS = 1_000;
/** For a burst that this process both sends and answers. */
const ALLOWED_IN_BURST_MS = 2_000;

const service = useQueryService({ oneRedis: true });
const redisProxy = useMade(() => startRedisProxy(service.installation.config.redis.url));
const mongodbProxy = useMade(() => startMongodbProxy(service.installation.mongodb));
const behindProxies = (settings: Record<string, string> = {}) => {
  const proxies = { REDIS_URL: redisProxy.url, MONGODB_URI: mongodbProxy.uri };
  return startAppWith(service.installation, { ...DEFAULT_TIMEOUTS, ...proxies, ...settings });
};
const proxied = useMade(() => behindProxies());
let token: string;

beforeAll(async () => {
  token = await service.tokenOf({ clientId: 'full' });
  await service.apply([anOrder('o1')]);
});

afterEach(async () => {
  await redisProxy.restore();
  await mongodbProxy.restore();
  await eventually('all is well again', async () => (await ask()).status === 200);
});

const ask = (path = '/api/order/list', headers = {}) => proxied.api.get(path, token, headers);
const askToken = () => proxied.api.askToken('full', 'secret');
const askHealth = () => proxied.api.call('/health');

/** Asserts that concurrent calls get 503 in time, repeatedly. */
async function expectUnavailable(
  calls: (() => Promise<Answer>)[],
  { rounds = 1, allowedMs = ALLOWED_MS } = {},
) {
  const round = async () => {
    const answers = await Promise.all(calls.map((call) => call()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  };
  await quickOnce('answers without a server', allowedMs, round, rounds);
}

const OUTAGES = [
  ['frozen', (proxy: TcpProxy) => proxy.freeze()],
  ['gone', (proxy: TcpProxy) => proxy.cut()],
] as const;

it.each(OUTAGES)(
  'a Redis that is %s leads to 503 in time, repeatedly, and never to a refusal',
  async (_how, fail) => {
    await fail(redisProxy);
    await expectUnavailable(
      [
        ...times(10, () => () => ask()),
        () => ask('/api/store/info/'),
        () => ask('/api/order/list?nonsense=1'),
        askToken,
        askHealth,
      ],
      { rounds: 3 },
    );
    // Requests that need no server are answered as usual.
    expect((await proxied.api.get('/api/order/list', 'x')).status).toBe(401);
    expect((await proxied.api.call(TOKEN_PATH, { method: 'POST' })).status).toBe(400);
  },
);

describe.each(OUTAGES)('MongoDB %s', (_how, fail) => {
  it('leads to 503 in time, repeatedly, even with more requests than connections', async () => {
    // Opens the connections first, so that the time covers only answers.
    await Promise.all(times(80, () => ask()));
    await fail(mongodbProxy);
    const etag = 'W/"x"';
    for (let round = 0; round < 2; round += 1) {
      await expectUnavailable(
        times(80, () => () => ask()),
        { allowedMs: ALLOWED_IN_BURST_MS },
      );
      await expectUnavailable([
        () => ask('/api/order/list?created_from=2026-01-01T00:00:00'),
        () => ask('/api/order/details/?order_id=o1', { 'if-none-match': etag }),
        () => ask('/api/order/list', { 'if-none-match': etag }),
        askToken,
        askHealth,
      ]);
    }
  });

  it('keeps the quota headers and the refusals that need no records, but not for a key whose grant only MongoDB has', async () => {
    await fail(mongodbProxy);
    // On a busy machine Redis may not answer in time, either: then the quota is missing.
    await eventually('the quota is shown', async () => (await ask()).headers.has('ratelimit'));
    await eventually(
      'parameters are read',
      async () => (await ask('/api/order/list?x=1')).status === 422,
    );
    await service.installation.redis.del(service.inRedis('s1').grant('full'));
    await expectUnavailable([() => ask()]);
  });
});

it('with a frozen MongoDB queued requests wait at most 1.8 times as long as the first', async () => {
  await using patient = await behindProxies({ MONGODB_READ_TIMEOUT_MS: '4000' });
  mongodbProxy.freeze();
  const began = performance.now();
  const waits = await Promise.all(
    times(153, async () => {
      expect((await patient.api.get('/api/order/list', token)).status).toBe(503);
      return performance.now() - began;
    }),
  );
  await mongodbProxy.restore();
  expect(Math.max(...waits) / Math.min(...waits)).toBeLessThan(1.8);
});
