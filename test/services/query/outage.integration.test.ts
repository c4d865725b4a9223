/** Redis and MongoDB frozen and gone: 503 within a second, never a let-in or a false 401 or 429, and back by itself. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { Config } from '#shared/config.ts';
import { type Answer, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { startTcpProxy, type TcpProxy } from '#test/tcp-proxy.ts';

const ALLOWED_MS = 1_000;
/** For a burst that this process has both to send and to answer. */
const ALLOWED_IN_BURST_MS = 2_000;

let service: QueryService;
let proxied: RunningApp;
let behindProxies: Config;
let redisProxy: TcpProxy;
let mongodbProxy: TcpProxy;
let token: string;

beforeAll(async () => {
  service = await startQueryService();
  const { config } = service.installation;
  const redisUrl = new URL(config.redis.url);
  const mongodbUrl = new URL(config.mongodb.uri);
  redisProxy = await startTcpProxy({ host: redisUrl.hostname, port: Number(redisUrl.port) });
  mongodbProxy = await startTcpProxy({ host: mongodbUrl.hostname, port: Number(mongodbUrl.port) });
  redisUrl.host = `127.0.0.1:${redisProxy.port}`;
  behindProxies = {
    ...config,
    redis: { ...config.redis, url: redisUrl.href },
    mongodb: { ...config.mongodb, uri: `mongodb://127.0.0.1:${mongodbProxy.port}/?directConnection=true` },
  };
  proxied = await startApp(behindProxies);
  await service.setKey({ clientId: 'full' });
  token = await proxied.api.token('full', 'secret');
  await service.apply([
    {
      entity: 'order',
      storeId: 's1',
      id: 'o1',
      data: { status: 'pending', order_type: 'delivery', total: '1.00', created_at: '2026-01-01T00:00:00Z' },
    },
  ]);
});

afterEach(async () => {
  await redisProxy.restore();
  await mongodbProxy.restore();
  await eventually('all is well again', async () => (await ask()).answer.status === 200);
});

afterAll(async () => {
  await proxied.app.close();
  await redisProxy.close();
  await mongodbProxy.close();
  await service.close();
});

async function timed(act: () => Promise<Answer>): Promise<{ answer: Answer; took: number }> {
  const start = performance.now();
  const answer = await act();
  return { answer, took: performance.now() - start };
}
const ask = (path = '/api/order/list', headers = {}) => timed(() => proxied.api.get(path, token, headers));
const askToken = () => timed(() => proxied.api.askToken('full', 'secret'));

async function expectUnavailable(
  calls: (() => Promise<{ answer: Answer; took: number }>)[],
  allowedMs = ALLOWED_MS,
): Promise<void> {
  for (const { answer, took } of await Promise.all(calls.map((call) => call()))) {
    expect([answer.status, answer.text]).toEqual([503, expect.stringMatching(/unavailable/)]);
    expect(took).toBeLessThan(allowedMs);
  }
}

const OUTAGES = [
  ['frozen', (proxy: TcpProxy) => proxy.freeze()],
  ['gone', (proxy: TcpProxy) => proxy.cut()],
] as const;

describe.each(OUTAGES)('Redis %s', (_how, fail) => {
  it('gives 503 in time, again and again, and never counts as a refusal', async () => {
    await fail(redisProxy);
    for (let round = 0; round < 3; round += 1) {
      await expectUnavailable([
        ...Array.from({ length: 10 }, () => () => ask()),
        () => ask('/api/store/info/'),
        () => ask('/api/order/list?nonsense=1'),
        askToken,
        () => timed(() => proxied.api.call('/health')),
      ]);
    }
    // What needs no server is answered as ever.
    expect((await proxied.api.get('/api/order/list', 'x')).status).toBe(401);
    expect((await proxied.api.call('/nope')).status).toBe(404);
    expect((await proxied.api.call(TOKEN_PATH, { method: 'POST' })).status).toBe(400);
  });

  it('is over as soon as Redis is back', async () => {
    await fail(redisProxy);
    await expectUnavailable([() => ask()]);
    await redisProxy.restore();
    await eventually('requests pass', async () => (await ask()).answer.status === 200, 3_000);
    expect((await askToken()).answer.status).toBe(200);
    expect((await proxied.api.call('/health')).status).toBe(200);
  });
});

describe.each(OUTAGES)('MongoDB %s', (_how, fail) => {
  it('gives 503 in time, again and again, also with more requests than connections', async () => {
    // Our own connections are made first: the time is for the answers.
    await Promise.all(Array.from({ length: 80 }, () => ask()));
    await fail(mongodbProxy);
    const etag = 'W/"x"';
    for (let round = 0; round < 3; round += 1) {
      await expectUnavailable(
        Array.from({ length: 80 }, () => () => ask()),
        ALLOWED_IN_BURST_MS,
      );
      await expectUnavailable([
        () => ask(),
        () => ask('/api/order/list?created_from=2026-01-01T00:00:00'),
        () => ask('/api/order/details/?order_id=o1', { 'if-none-match': etag }),
        () => ask('/api/order/list', { 'if-none-match': etag }),
        askToken,
        () => timed(() => proxied.api.call('/health')),
      ]);
    }
  });

  it('still tells the quota, and refuses what needs no records', async () => {
    await fail(mongodbProxy);
    const { answer } = await ask();
    expect(answer.status).toBe(503);
    expect(answer.headers.get('ratelimit')).not.toBeNull();
    expect((await ask('/api/order/list?x=1')).answer.status).toBe(422);
    expect((await proxied.api.get('/api/order/list', 'x')).status).toBe(401);
  });

  it('lets nobody in whose grant it would have to tell', async () => {
    const { redis, config, environment } = service.installation;
    await redis.del(redisKeys(config.namePrefix, environment, 's1').grant('full'));
    await fail(mongodbProxy);
    await expectUnavailable([() => ask(), () => ask('/api/store/info/')]);
  });

  it('is over as soon as MongoDB is back', async () => {
    await fail(mongodbProxy);
    await expectUnavailable(
      Array.from({ length: 80 }, () => () => ask()),
      ALLOWED_IN_BURST_MS,
    );
    await mongodbProxy.restore();
    await eventually('requests pass', async () => (await ask()).answer.status === 200, 5_000);
    expect((await askToken()).answer.status).toBe(200);
  });
});

describe('a start during an outage', () => {
  it.each(OUTAGES)('is possible: servers %s', async (_how, fail) => {
    await fail(redisProxy);
    await fail(mongodbProxy);
    const late = await startApp(behindProxies);
    try {
      expect((await late.api.call('/health')).status).toBe(503);
      expect((await late.api.get('/api/order/list', token)).status).toBe(503);
      await redisProxy.restore();
      await mongodbProxy.restore();
      await eventually(
        'requests pass',
        async () => (await late.api.get('/api/order/list', token)).status === 200,
      );
    } finally {
      await late.app.close();
    }
  });
});

it('an environment without a generation is unavailable', async () => {
  const { config } = service.installation;
  const empty = await startApp({ ...config, environments: [...config.environments, 'unmade'] });
  try {
    expect((await empty.api.get('/api/order/list', token)).status).toBe(200);
    const { storeId, sessionId } = { storeId: 's9', sessionId: 'f'.repeat(32) };
    await service.installation.mongodb
      .db(`${config.namePrefix}_control`)
      .collection('access_keys')
      .insertOne({
        _id: 'k9' as never,
        environment: 'unmade',
        store_id: storeId,
        scopes: ['order'],
        status: 'active',
        version: 1,
        sequence: 1,
      });
    await service.installation.redis.set(
      redisKeys(config.namePrefix, 'unmade', storeId).session(sessionId),
      'k9',
      'EX',
      60,
    );
    const own = await empty.app.tokens.issue({
      sessionId,
      clientId: 'k9',
      storeId,
      environment: 'unmade',
      scopes: ['order'],
    });
    const answer = await empty.api.get('/api/order/list', own);
    expect([answer.status, answer.json]).toMatchObject([503, { code: 'environment_unavailable' }]);
  } finally {
    await empty.app.close();
  }
});
