import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { createApiClient } from '#test/api-client.ts';
import { eventually } from '#test/installation.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import { inheritedEnvironment } from '#test/service-process.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';

const installation = useInstallation({ oneRedis: true, settings: { LOG_LEVEL: 'info' } });

function run(change: Record<string, string> = {}) {
  const env = { ...inheritedEnvironment(), ...installation.env, ...change };
  const child = spawn(process.execPath, ['services/query/main.ts'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, exited: once(child, 'exit') };
}

async function started({ child }: ReturnType<typeof run>): Promise<{ url: string; operations: string }> {
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as { msg: string; url: string; operations: string };
    if (entry.msg === 'query service started') return entry;
  }
  throw new Error('the service did not start');
}

describe('the process', () => {
  it('tells its addresses, serves, and ends in order on SIGTERM', async () => {
    const service = run();
    const { url, operations } = await started(service);
    const api = createApiClient(url);
    expect((await api.call('/health')).status).toBe(200);
    expect((await fetch(`${operations}/live`)).status).toBe(200);
    expect((await fetch(`${operations}/ready`)).status).toBe(200);
    const metrics = await (await fetch(`${operations}/metrics`)).text();
    expect(metrics).toContain('store_data_request_seconds_count{route="/health",method="GET",status="200"} 1');
    expect((await api.call('/metrics')).status).toBe(404);
    service.child.kill('SIGTERM');
    const [code] = (await service.exited) as [number | null];
    expect(code).toBe(0);
  });

  it('starts and is live without Redis and MongoDB, and answers 503; it is not ready until it has reached both', async () => {
    const service = run({
      ...DEFAULT_TIMEOUTS,
      REDIS_URL: 'redis://127.0.0.1:1',
      MONGODB_URI: 'mongodb://127.0.0.1:1',
    });
    try {
      const { url, operations } = await started(service);
      expect((await createApiClient(url).call('/health')).status).toBe(503);
      expect((await fetch(`${operations}/live`)).status).toBe(200);
      expect((await fetch(`${operations}/ready`)).status).toBe(503);
    } finally {
      service.child.kill('SIGTERM');
      await service.exited;
    }
  });

  it.each([
    ['REDIS_URL', () => startRedisProxy(installation.config.redis.url)],
    ['MONGODB_URI', () => startMongodbProxy(installation.mongodb)],
  ] as const)(
    'starts while the server of %s accepts and never answers, says 503, and answers once it does',
    async (variable, startProxy) => {
      const proxy = await startProxy();
      proxy.freeze();
      // More patient with servers than a start may take.
      const patience = { MONGODB_READ_TIMEOUT_MS: '3000', REDIS_COMMAND_TIMEOUT_MS: '3000' };
      const service = run({ ...patience, [variable]: 'url' in proxy ? proxy.url : proxy.uri });
      try {
        const { url, operations } = await started(service);
        const api = createApiClient(url);
        expect((await api.call('/health')).status).toBe(503);
        expect((await fetch(`${operations}/live`)).status).toBe(200);
        expect((await fetch(`${operations}/ready`)).status).toBe(503);
        await proxy.restore();
        await eventually('it answers', async () => (await api.call('/health')).status === 200);
        expect((await fetch(`${operations}/ready`)).status).toBe(200);
        // Later it is away for every instance: none is better.
        proxy.freeze();
        await eventually('it says so', async () => (await api.call('/health')).status === 503);
        expect((await fetch(`${operations}/ready`)).status).toBe(200);
        await proxy.restore();
      } finally {
        service.child.kill('SIGTERM');
        await service.exited;
        await proxy.close();
      }
    },
  );

  it('starts while every connection to Redis falls silent once it is ready, and answers once they do not', async () => {
    const redis = await startFallingSilent(new URL(installation.env['REDIS_URL'] ?? ''));
    const service = run({ ...DEFAULT_TIMEOUTS, REDIS_URL: `redis://127.0.0.1:${redis.port}` });
    try {
      const { url } = await started(service);
      const api = createApiClient(url);
      expect((await api.call('/health')).status).toBe(503);
      redis.restore();
      await eventually('it answers', async () => (await api.call('/health')).status === 200);
    } finally {
      service.child.kill('SIGTERM');
      await service.exited;
      redis.close();
    }
  });

  it('is not ready from the signal to end on, and serves until whoever sends requests has noticed', async () => {
    const service = run({ SHUTDOWN_DELAY_MS: '2000' });
    const { url, operations } = await started(service);
    const api = createApiClient(url);
    await eventually('it is ready', async () => (await fetch(`${operations}/ready`)).status === 200);
    expect((await api.call('/nowhere')).headers.get('connection')).toBe('keep-alive');
    service.child.kill('SIGTERM');
    await eventually('it is not ready', async () => (await fetch(`${operations}/ready`)).status === 503);
    const answer = await api.call('/nowhere');
    expect([answer.status, answer.headers.get('connection')]).toEqual([404, 'close']);
    const [code] = (await service.exited) as [number | null];
    expect(code).toBe(0);
  });

  it('tells a variable that is nearly a setting, with the nearest', async () => {
    const service = run({ QUOTA_REQUEST: '10' });
    try {
      for await (const line of createInterface({ input: service.child.stdout })) {
        const { msg } = JSON.parse(line) as { msg: string };
        if (msg === 'query service started') throw new Error('it did not tell');
        if (msg === 'QUOTA_REQUEST is no setting; the nearest is QUOTA_REQUESTS') break;
      }
    } finally {
      service.child.kill('SIGTERM');
      await service.exited;
    }
  });

  it('refuses to start without signing keys or with a wrong setting, and says how to mend it', async () => {
    for (const [change, words] of [
      [{ SIGNING_KEYS: '' }, /SIGNING_KEYS_FILE/],
      [{ SIGNING_KEYS: '{"keys":[]}' }, /JWK set/],
      [{ QUOTA_REQUESTS: 'many' }, /QUOTA_REQUESTS/],
    ] as const) {
      const service = run(change);
      const lines: string[] = [];
      createInterface({ input: service.child.stdout }).on('line', (line) => lines.push(line));
      const [code] = (await service.exited) as [number | null];
      expect(code).toBe(1);
      expect(lines.at(-1)).toMatch(words);
    }
  });
});

/** A proxy of Redis that lets pass what makes a client believe that it is ready, and nothing after it. */
async function startFallingSilent({ hostname, port }: URL) {
  const sockets = new Set<Socket>();
  let restored = false;
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      client.write(chunk);
      if (chunk.includes('redis_version') && !restored) upstream.pause();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    restore: () => {
      restored = true;
      for (const socket of sockets) socket.resume();
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
