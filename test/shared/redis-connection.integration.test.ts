import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { metricFactory } from '#shared/operations.ts';
import { nodeFor } from '#shared/redis-masters.ts';
import { createRedis, redisSeconds } from '#shared/redis.ts';
import { useInstallation } from '#test/hooks.ts';
import { startRedisProxy } from '#test/server-proxies.ts';

const TIMEOUT_MS = 300;

const installation = useInstallation({ oneRedis: true });

it('commands are timed, even if Redis is silent', async () => {
  const { config } = installation;
  await using proxy = await startRedisProxy(config.redis.url);
  const seconds = redisSeconds(metricFactory(new Registry()));
  const settings = { ...config.redis, url: proxy.url, commandTimeoutMs: TIMEOUT_MS };
  const masters = createRedis({ ...config, redis: settings }, { away: () => undefined }, seconds);
  try {
    await masters.ready(5_000);
    const redis = nodeFor(masters, 'any');
    const measured = async () => {
      const { values } = await seconds.get();
      const of = (end: string) =>
        values.find(({ metricName }) => metricName?.endsWith(end))?.value ?? 0;
      return { count: of('_count'), sum: of('_sum') };
    };
    const before = await measured();
    await redis.ping();
    const answered = await measured();
    expect(answered.count - before.count).toBe(1);
    proxy.freeze();
    await expect(redis.ping()).rejects.toThrow('Command timed out');
    expect((await measured()).sum - answered.sum).toBeGreaterThan((TIMEOUT_MS / 1_000) * 0.9);
  } finally {
    masters.disconnect();
  }
});
