import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Counted, createQuota, type Quota, quotaState } from '#query/access/quota.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { createRedisClient, redisReady } from '#shared/redis.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

const settings = { requests: 3, windowSeconds: 60 };
const count = (quota: Quota, store: string, environment = 'e') =>
  quota.count(environment, store, settings.windowSeconds);

it('counts for each store and environment apart, and takes back', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  const consumed = async (store: string) => (await count(quota, store)).consumed;
  expect([await consumed('a'), await consumed('a'), await consumed('b')]).toEqual([1, 2, 1]);
  await quota.giveBack(await count(quota, 'a'));
  expect([await consumed('a'), await consumed('a')]).toEqual([3, 4]);
  expect((await count(quota, 'a', 'other')).consumed).toBe(1);
});

it('is shared by all instances, to the last request', async () => {
  const { redis, config } = installation;
  const other = createRedisClient(config, () => undefined);
  await redisReady(other, 2_000);
  try {
    const policy = { requests: 50, windowSeconds: 60 };
    const quotas = [redis, other].map((client) => createQuota(client, config.namePrefix, policy));
    const counts = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => quotas[index % 2]?.count('e', 'shared', 60)),
    );
    const states = counts.map((counted) => counted && quotaState(counted, policy));
    expect(states.filter((state) => state?.allowed)).toHaveLength(50);
  } finally {
    other.disconnect();
  }
});

it('counts windows of different length apart, each with its own end', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  await count(quota, 'windows');
  const shorter = await quota.count('e', 'windows', 10);
  expect(shorter.consumed).toBe(1);
  expect(shorter.milliseconds).toBeLessThanOrEqual(10_000);
  const longer = await count(quota, 'windows');
  expect(longer.consumed).toBe(2);
  expect(longer.milliseconds).toBeGreaterThan(50_000);
});

it('gives nothing back to a window that is over, nor to the one after it', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  const { quota: keyOf } = redisKeys(config.namePrefix, 'e', 'edge');
  const last = await quota.count('e', 'edge', 1);
  await eventually('the window ends', async () => (await redis.exists(keyOf(1))) === 0);
  await quota.giveBack(last);
  expect(await redis.exists(keyOf(1))).toBe(0);
  expect((await quota.count('e', 'edge', 1)).consumed).toBe(1);
  // The next window has begun meanwhile: more of its time is left than the old one had when it was counted.
  const old: Counted = { key: keyOf(60), windowSeconds: 60, consumed: 3, milliseconds: 200 };
  expect((await count(quota, 'edge')).consumed).toBe(1);
  await quota.giveBack(old);
  expect((await count(quota, 'edge')).consumed).toBe(2);
  expect(await redis.pttl(keyOf(60))).toBeGreaterThan(0);
});

it('throws when Redis is away: an outage is no refusal', async () => {
  const { config } = installation;
  const redis = createRedisClient(
    { ...config, redis: { ...config.redis, url: 'redis://127.0.0.1:1', commandTimeoutMs: 100 } },
    () => undefined,
  );
  try {
    const quota = createQuota(redis, 'x', settings);
    await expect(count(quota, 's')).rejects.toBeInstanceOf(Error);
    const counted = { key: 'x', windowSeconds: 60, consumed: 1, milliseconds: 1 };
    await expect(quota.giveBack(counted)).rejects.toBeInstanceOf(Error);
  } finally {
    redis.disconnect();
  }
});

it('survives that Redis forgets its scripts', async () => {
  const { redis, config } = installation;
  const quota = createQuota(redis, config.namePrefix, settings);
  await count(quota, 'flushed');
  await redis.script('FLUSH');
  expect((await count(quota, 'flushed')).consumed).toBe(2);
});

it.each([
  [
    { consumed: 1, milliseconds: 60_000 },
    { allowed: true, remaining: 2, resetSeconds: 60 },
  ],
  [
    { consumed: 3, milliseconds: 59_000 },
    { allowed: true, remaining: 0, resetSeconds: 60 },
  ],
  [
    { consumed: 4, milliseconds: 58_999 },
    { allowed: false, remaining: 0, resetSeconds: 59 },
  ],
  [
    { consumed: 9, milliseconds: 1 },
    { allowed: false, remaining: 0, resetSeconds: 1 },
  ],
])('of %j says %j: a client that waits that long comes after the end', (counted, state) => {
  expect(quotaState({ key: '', windowSeconds: 60, ...counted }, settings)).toEqual({
    limit: 3,
    windowSeconds: 60,
    ...state,
  });
});
