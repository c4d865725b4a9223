import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { createApiClient } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { succeeds } from '#test/succeeds.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';

const installation = useInstallation({ oneRedis: true });

/** More answers than the buffers of the system take. */
const MANY = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\n\r\n'.repeat(
  300,
);

const processes: ServiceProcess[] = [];
afterAll(() => killAll(processes));

/** Starts a service and waits until it listens. */
async function started(change: Record<string, string> = {}) {
  const service = startService('query', { ...installation.env, ...change });
  processes.push(service);
  const { url, operations } = await listening(service);
  const api = createApiClient(url);
  return {
    url,
    api,
    lines: service.lines.map(({ msg }) => msg),
    /** The status of a path of the operations port. */
    of: async (path: string) => (await fetch(`${operations}${path}`)).status,
    isHealthy: async () => (await api.call('/health')).status === 200,
    terminate: async () => {
      service.kill('SIGTERM');
      return (await service.ended).code;
    },
  };
}

function connectTo(url: string) {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port) });
}

describe.concurrent('the process', () => {
  it('warns of an unknown variable with a similar name to a setting, serves, and on SIGTERM until clients have noticed', async () => {
    const change = { QUOTA_REQUEST: '10', SHUTDOWN_DELAY_MS: '2000' };
    const { api, lines, of, terminate } = await started(change);
    expect(lines).toContain('QUOTA_REQUEST is not a setting; the nearest is QUOTA_REQUESTS');
    expect((await api.call('/health')).status).toBe(200);
    expect([await of('/live'), await of('/ready'), await of('/metrics')]).toEqual([200, 200, 200]);
    expect((await api.call('/metrics')).status).toBe(404);
    const ended = terminate();
    await eventually('it is not ready', async () => (await of('/ready')) === 503);
    const answer = await api.call('/nowhere');
    expect([answer.status, answer.headers.get('connection')]).toEqual([404, 'close']);
    expect(await ended).toBe(0);
  });

  it('starts without Redis and MongoDB: it is live, not ready, and answers 503', async () => {
    const { isHealthy, of } = await started({
      ...DEFAULT_TIMEOUTS,
      REDIS_URL: 'redis://127.0.0.1:1',
      MONGODB_URI: 'mongodb://127.0.0.1:1',
    });
    expect(await isHealthy()).toBe(false);
    expect([await of('/live'), await of('/ready')]).toEqual([200, 503]);
  });

  it.each([
    ['REDIS_URL', () => startRedisProxy(installation.config.redis.url)],
    ['MONGODB_URI', () => startMongodbProxy(installation.mongodb)],
  ] as const)(
    'starts while the server of %s accepts and never answers, says 503, and answers once it does',
    async (variable, startProxy) => {
      await using proxy = await startProxy();
      proxy.freeze();
      // Longer timeouts than a start may take.
      const patience = { MONGODB_READ_TIMEOUT_MS: '3000', REDIS_COMMAND_TIMEOUT_MS: '3000' };
      const { isHealthy, of } = await started({
        ...patience,
        [variable]: 'url' in proxy ? proxy.url : proxy.uri,
      });
      expect(await isHealthy()).toBe(false);
      expect([await of('/live'), await of('/ready')]).toEqual([200, 503]);
      await proxy.restore();
      await eventually('it answers', isHealthy);
      expect(await of('/ready')).toBe(200);
      // It stays ready: later every instance misses the server, so that another one would not help.
      proxy.freeze();
      await eventually('it says so', async () => !(await isHealthy()));
      expect(await of('/ready')).toBe(200);
      await proxy.restore();
    },
  );

  it('starts while connections to Redis fall silent after the handshake, and answers once they work', async () => {
    await using redis = await startRedisProxy(installation.config.redis.url);
    // The handshake ends with the answer to INFO.
    redis.fallSilentAfter('redis_version');
    const { isHealthy } = await started({ ...DEFAULT_TIMEOUTS, REDIS_URL: redis.url });
    expect(await isHealthy()).toBe(false);
    await redis.restore();
    await eventually('it answers', isHealthy);
  });

  it.each([
    ['sends nothing', ''],
    [
      'does not complete a body',
      'POST /api/auth/token/ HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx',
    ],
    ['does not read its answers', MANY],
  ])('ends in order on SIGTERM while a client %s', async (_what, sent) => {
    const { url, terminate } = await started();
    const client = connectTo(url).pause();
    client.on('error', () => undefined);
    await once(client, 'connect');
    if (sent !== '') await new Promise((resolve) => client.write(sent, resolve));
    // The answers have begun.
    if (sent === MANY) await once(client, 'readable');
    expect(await terminate()).toBe(0);
    client.destroy();
  });

  it('sends answers whole that clients are still reading on SIGTERM', async () => {
    const { url, isHealthy, terminate } = await started();
    const client = connectTo(url);
    client.write(MANY);
    await once(client, 'readable');
    const ended = terminate();
    await eventually('it accepts no connection', async () => !(await succeeds(isHealthy())));
    const last = (await text(client)).split('HTTP/1.1 200 OK').at(-1) ?? '';
    const [head = '', body] = last.split(/\r\n\r\n(.*)/s);
    expect(Buffer.byteLength(body ?? '')).toBe(Number(/content-length: (\d+)/i.exec(head)?.[1]));
    expect(await ended).toBe(0);
  });
});
