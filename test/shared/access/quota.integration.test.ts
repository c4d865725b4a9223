import { afterAll, beforeAll, expect, it } from 'vitest';
import { createQuota } from '#shared/access/quota.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { createRedisClient, redisReady } from '#shared/redis.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

const settings = { requests: 3, windowSeconds: 60 };

it('counts for each store and environment apart, refuses what exceeds, and takes back', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  const remaining = async (store: string) => (await quota.count('e', store)).remaining;
  expect([await remaining('a'), await remaining('a'), await remaining('b')]).toEqual([2, 1, 2]);
  await quota.giveBack('e', 'a');
  expect([await remaining('a'), await remaining('a')]).toEqual([1, 0]);
  expect(await quota.count('e', 'a')).toMatchObject({
    allowed: false,
    remaining: 0,
    limit: 3,
    windowSeconds: 60,
  });
  expect(await quota.count('other', 'a')).toMatchObject({ allowed: true, remaining: 2 });
});

it('is shared by all instances, to the last request', async () => {
  const { redis, config } = installation;
  const other = createRedisClient(config, () => undefined);
  await redisReady(other, 2_000);
  try {
    const quotas = [redis, other].map((client) =>
      createQuota(client, config.namePrefix, { requests: 50, windowSeconds: 60 }),
    );
    const states = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => quotas[index % 2]?.count('e', 'shared')),
    );
    expect(states.filter((state) => state?.allowed)).toHaveLength(50);
  } finally {
    other.disconnect();
  }
});

it('leaves no key without expiry, whatever is given back', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  await quota.giveBack('e', 'never-counted');
  const { quota: key } = redisKeys(config.namePrefix, 'e', 'never-counted');
  expect(await redis.pttl(key)).toBeGreaterThan(0);
});

it('throws when Redis is away: an outage is no refusal', async () => {
  const redis = createRedisClient(
    { ...installation.config, redis: { url: 'redis://127.0.0.1:1', commandTimeoutMs: 100 } },
    () => undefined,
  );
  try {
    await expect(createQuota(redis, 'x', settings).count('e', 's')).rejects.toBeInstanceOf(Error);
  } finally {
    redis.disconnect();
  }
});

it('survives that Redis forgets its scripts', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  await quota.count('e', 'flushed');
  await redis.script('FLUSH');
  expect((await quota.count('e', 'flushed')).remaining).toBe(1);
});
