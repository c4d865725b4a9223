/** What a silent Redis does to commands, and that each gets its own answer. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { metricFactory } from '#shared/operations.ts';
import { nodeFor } from '#shared/redis-masters.ts';
import { createRedis, redisSeconds } from '#shared/redis.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startRedisProxy } from '#test/server-proxies.ts';
import type { TcpProxy } from '#test/tcp-proxy.ts';

const TIMEOUT_MS = 300;

const installation = useInstallation({ oneRedis: true });
let proxy: TcpProxy;
let redis: Redis;
const seconds = redisSeconds(metricFactory(new Registry()));
beforeAll(async () => {
  const behind = await startRedisProxy(installation.config.redis.url);
  proxy = behind;
  const settings = {
    ...installation.config.redis,
    url: behind.url,
    commandTimeoutMs: TIMEOUT_MS,
  };
  const watcher = { away: () => undefined };
  const masters = createRedis({ ...installation.config, redis: settings }, watcher, seconds);
  await masters.ready(5_000);
  redis = nodeFor(masters, 'any');
});
const isThere = () => redis.ping().then(Boolean, () => false);
afterEach(async () => {
  await proxy.restore();
  await eventually('Redis answers', isThere);
});
afterAll(async () => {
  redis?.disconnect();
  await proxy?.close();
});

const key = (name: string) => `${installation.config.namePrefix}:${name}`;

describe('commands', () => {
  it('are timed, also where Redis is silent', async () => {
    const measured = async () => {
      const { values } = await seconds.get();
      const of = (end: string) => values.find(({ metricName }) => metricName?.endsWith(end))?.value ?? 0;
      return { count: of('_count'), sum: of('_sum') };
    };
    const before = await measured();
    await redis.ping();
    const answered = await measured();
    expect(answered.count - before.count).toBe(1);
    proxy.freeze();
    await expect(redis.ping()).rejects.toThrow('Command timed out');
    expect((await measured()).sum - answered.sum).toBeGreaterThan((TIMEOUT_MS / 1_000) * 0.9);
  });

  it('get each its own answer, or its own error', async () => {
    await redis.set(key('text'), 'x');
    const many = Array.from({ length: 500 }, (_, index) => index);
    const answers = await Promise.allSettled(
      many.map((index) => (index % 10 === 0 ? redis.incr(key('text')) : redis.echo(String(index)))),
    );
    for (const [index, answer] of answers.entries()) {
      if (index % 10 === 0) expect(answer).toMatchObject({ status: 'rejected' });
      else expect(answer).toEqual({ status: 'fulfilled', value: String(index) });
    }
  });
});

describe('a Redis that does not answer', () => {
  it('fails every command in time, whenever it was sent, and answers those that come after', async () => {
    await redis.set(key('b'), 'before');
    proxy.freeze();
    for (let round = 0; round < 2; round += 1) {
      const began = performance.now();
      const answers = await Promise.allSettled([
        redis.get(key('b')),
        redis.multi().get(key('b')).exec(),
        new Promise((resolve) => setTimeout(resolve, 50)).then(() => redis.get(key('b'))),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      const took = performance.now() - began;
      expect(took).toBeGreaterThan(TIMEOUT_MS - 50);
      // Without a time limit they would not end at all.
      expect(took).toBeLessThan(TIMEOUT_MS + 30_000);
    }
    await proxy.restore();
    await eventually('it answers again', () =>
      redis.get(key('b')).then(
        (value) => value === 'before',
        () => false,
      ),
    );
  });

  it('fails what is under way at once when it goes', async () => {
    const goes = async () => {
      await proxy.restore();
      await eventually('Redis answers', isThere);
      proxy.freeze();
      const began = performance.now();
      const asked = redis.get(key('b'));
      setImmediate(() => void proxy.cut());
      await expect(asked).rejects.toThrow();
      return performance.now() - began;
    };
    // A busy machine may take its time now and then.
    await eventually('it fails before its time is over', async () => (await goes()) < TIMEOUT_MS);
  });
});
