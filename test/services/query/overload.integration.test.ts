/** More requests than can be answered, and a MongoDB that is known to be away: refused at once, before anything is done for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { LEAST } from '#query/overload/in-flight-limit.ts';
import { remainingOf } from '#test/api-client.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { quickOnce } from '#test/patience.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { startMongodbProxy } from '#test/server-proxies.ts';
import type { TcpProxy } from '#test/tcp-proxy.ts';

const DATA = '/api/order/list';
const TOKEN = '/api/auth/token/';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function valueOf(metric: { get: () => Promise<{ values: { value: number }[] }> }): Promise<number> {
  return (await metric.get()).values[0]?.value ?? 0;
}

/** An app that reaches MongoDB through a proxy. */
async function startBehindProxy(
  { env, mongodb }: Installation,
  settings: Record<string, string>,
): Promise<{ proxy: TcpProxy; running: RunningApp }> {
  const proxy = await startMongodbProxy(mongodb);
  return { proxy, running: await startApp(readConfig({ ...env, ...settings, MONGODB_URI: proxy.uri })) };
}

describe('more requests than can be answered', () => {
  let service: QueryService;
  let mongodb: TcpProxy;
  let asked: RunningApp;
  let token: string;
  beforeAll(async () => {
    const settings = { QUOTA_REQUESTS: '10000', QUOTA_WINDOW_SECONDS: '3600' };
    service = await startQueryService({ settings });
    await service.setKey({ clientId: 'reader' });
    // Whoever waits for MongoDB waits as long as the test, and few may.
    const few = { MONGODB_READ_TIMEOUT_MS: '60000', OVERLOAD_LATENCY_MS: '10' };
    ({ proxy: mongodb, running: asked } = await startBehindProxy(service.installation, few));
    token = await asked.api.token('reader', 'secret');
  });
  afterAll(async () => {
    await mongodb?.restore();
    await asked?.app.close();
    await mongodb?.close();
    await service?.close();
  });

  it('are refused at once, before anything else, and take nothing of the quota', async () => {
    const { metrics } = asked.app;
    const before = await asked.api.get(DATA, token);
    expect(before.status).toBe(200);
    mongodb.freeze();
    const waiting: Promise<Response>[] = [];
    while ((await valueOf(metrics.shedRequests)) === 0) {
      waiting.push(fetch(asked.url + DATA, { headers: bearer(token) }));
      await sleep(1);
    }
    await eventually('all have arrived', async () => {
      const [inFlight, shed] = await Promise.all([valueOf(metrics.inFlight), valueOf(metrics.shedRequests)]);
      return inFlight + shed === waiting.length;
    });
    const inFlight = await valueOf(metrics.inFlight);
    expect(inFlight).toBeGreaterThanOrEqual(LEAST);
    const shedBefore = await valueOf(metrics.shedRequests);
    const health = fetch(`${asked.url}/health`);

    type Options = { method?: string; headers?: Record<string, string>; body?: URLSearchParams };
    const refused: [path: string, caching: string, options: Options][] = [
      [DATA, 'private, no-cache', { headers: bearer(token) }],
      [DATA, 'private, no-cache', { headers: bearer('nonsense') }],
      [DATA, 'private, no-cache', {}],
      [DATA, 'private, no-cache', { method: 'DELETE' }],
      ['/nowhere', 'private, no-cache', {}],
      ['/healthy', 'private, no-cache', {}],
      ['/api/order/changes?wait=5', 'private, no-store', { headers: bearer(token) }],
      [
        TOKEN,
        'no-store',
        { method: 'POST', body: new URLSearchParams({ grant_type: 'client_credentials' }) },
      ],
    ];
    for (const [path, caching, options] of refused) {
      const headers = { ...options.headers, 'X-Request-Id': 'mine-1' };
      const response = await fetch(asked.url + path, { ...options, headers });
      const { code, detail, ...rest } = (await response.json()) as Record<string, string>;
      const name = path === TOKEN ? 'temporarily_unavailable' : 'environment_unavailable';
      expect([path, response.status, code, detail]).toEqual([path, 503, name, expect.any(String)]);
      expect(rest).toEqual(path === TOKEN ? { error: name, error_description: detail } : {});
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe(caching);
      expect(response.headers.get('x-request-id')).toBe('mine-1');
      expect(response.headers.get('ratelimit')).toBeNull();
    }
    const head = await fetch(asked.url + DATA, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([503, '']);
    expect(head.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    expect(await valueOf(metrics.shedRequests)).toBe(shedBefore + refused.length + 1);

    await mongodb.restore();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    const good = statuses.filter((status) => status === 200).length;
    expect(good).toBe(inFlight);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await health).status).toBe(200);
    const after = await asked.api.get(DATA, token);
    expect(after.status).toBe(200);
    expect(remainingOf(before) - remainingOf(after)).toBe(good + 1);
    await eventually('none is in flight', async () => (await valueOf(metrics.inFlight)) === 0);
  });

  it('are not those that wait for changes', async () => {
    const { metrics } = asked.app;
    const feed = await asked.api.get('/api/order/changes', token);
    const { next } = feed.json as { next: string };
    const over = new AbortController();
    const path = `${asked.url}/api/order/changes?after=${next}&wait=30`;
    const waiting: Promise<number>[] = [];
    // A few at a time: they are load until they wait.
    while (waiting.length < 5 * LEAST) {
      for (let count = 0; count < LEAST / 2; count += 1) {
        const answer = fetch(path, { headers: bearer(token), signal: over.signal });
        waiting.push(answer.then(({ status }) => status).catch(() => 0));
      }
      await eventually('they wait', async () => {
        const [inFlight, held] = await Promise.all([valueOf(metrics.inFlight), valueOf(metrics.waiting)]);
        return inFlight === 0 && held === waiting.length;
      });
    }
    expect((await asked.api.get(DATA, token)).status).toBe(200);
    over.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([0]));
    await eventually('nobody waits', async () => (await valueOf(metrics.waiting)) === 0);
    expect(await valueOf(metrics.inFlight)).toBe(0);
  });
});

describe('a MongoDB that is away', () => {
  const READ_TIMEOUT_MS = 3_000;

  it('keeps nobody waiting once that is known, and is used again as soon as it is back', async () => {
    const installation = await createInstallation();
    const settings = { MONGODB_READ_TIMEOUT_MS: String(READ_TIMEOUT_MS) };
    const { proxy, running } = await startBehindProxy(installation, settings);
    const health = async () => (await running.api.call('/health')).status;
    const away = () => valueOf(running.app.metrics.mongodbAway);
    try {
      await eventually('it is well', async () => (await health()) === 200);
      for (const fail of [() => proxy.cut(), async () => proxy.freeze()]) {
        await fail();
        await eventually('it is known', async () => (await health()) === 503 && (await away()) === 1);
        await quickOnce('refusals', READ_TIMEOUT_MS / 2, async () => expect(await health()).toBe(503), 5);
        await proxy.restore();
        await eventually('it is back', async () => (await health()) === 200);
        expect(await away()).toBe(0);
      }
    } finally {
      await running.app.close();
      await proxy.close();
      await installation.close();
    }
  });

  it('is told to whoever waited for it, however soon sockets are cut on which nothing happens', async () => {
    const installation = await createInstallation();
    const settings = { MONGODB_READ_TIMEOUT_MS: '1500' };
    const { proxy, running } = await startBehindProxy(installation, settings);
    try {
      running.app.server.setTimeout(100);
      await eventually('it is well', async () => (await running.api.call('/health')).status === 200);
      proxy.freeze();
      expect((await running.api.call('/health')).status).toBe(503);
    } finally {
      await running.app.close();
      await proxy.close();
      await installation.close();
    }
  });
});
