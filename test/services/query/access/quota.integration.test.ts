import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type LiveAccess,
  type LiveAccessSources,
  authorize,
  authorizeAndCount,
  quotaState,
} from '#query/access/live-access.ts';
import { deadlineAfter } from '#query/deadline.ts';
import { onlyMaster, type RedisMaster } from '#shared/redis-masters.ts';
import { controlCollections, type StoreAccess } from '#shared/access/access-keys.ts';
import { publishAll, publishedKey, publishedState, redisKeys } from '#shared/access/grants.ts';
import { controlDatabase } from '#shared/read-models/databases.ts';
import { createRedis } from '#shared/redis.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation({ oneRedis: true });
});
afterAll(() => installation.close());

const settings = { requests: 3, windowSeconds: 60 };
const withDeadline = deadlineAfter(10_000);
const claimsOf = (storeId: string, environment = 'e') => ({
  sessionId: 'a session',
  clientId: 'client',
  storeId,
  environment,
  scopes: ['order' as const],
  expiresAt: 0,
});

function sources(change: Partial<LiveAccessSources> = {}): LiveAccessSources {
  const { config, mongodb } = installation;
  const control = controlCollections(controlDatabase(mongodb, config.namePrefix));
  const gates = openTo(onlyMaster(installation.redis));
  return { gates, control, prefix: config.namePrefix, quota: settings, ...change };
}

/** A gate that is always open. */
function openTo(master: RedisMaster): LiveAccessSources['gates'] {
  return { acquire: () => ({ master, assertValid: () => undefined }) };
}

let version = 0;
/** Lets requests for a store pass, or not. */
async function arrange(
  storeId: string,
  {
    environment = 'e',
    status = 'active',
    session = 'client',
    store = {},
  }: Partial<{
    environment: string;
    status: 'active' | 'inactive';
    session: string;
    store: Partial<StoreAccess>;
  }> = {},
): Promise<void> {
  const { redis } = installation;
  const { prefix } = sources();
  version += 1;
  const at = { environment, store_id: storeId, version };
  const key = { ...at, _id: 'client', status, scopes: ['order' as const], secret_hashes: [] };
  const access: StoreAccess = {
    ...at,
    _id: `${environment}/${storeId}`,
    access_status: 'active',
    access_sequence: 0,
    record_status: 'active',
    record_sequence: 0,
    updated_at: new Date(),
    ...store,
  };
  await publishAll(onlyMaster(redis), [
    publishedKey(prefix, key),
    publishedState(prefix, environment, storeId, access),
  ]);
  await redis.set(redisKeys(prefix, environment, storeId).session('a session'), session);
}

async function request(storeId: string, environment = 'e', of = sources()): Promise<LiveAccess['quota']> {
  const live = await authorizeAndCount(of, claimsOf(storeId, environment), withDeadline);
  if (typeof live === 'string') throw new Error(live);
  return live.quota;
}

const remaining = async (storeId: string, environment?: string) =>
  (await request(storeId, environment)).remaining;

it('counts for each store and environment apart', async () => {
  await arrange('a');
  await arrange('b');
  await arrange('a', { environment: 'other' });
  expect([await remaining('a'), await remaining('a'), await remaining('b')]).toEqual([2, 1, 2]);
  expect(await remaining('a', 'other')).toBe(2);
});

it('is shared by all instances, to the last request', async () => {
  const { redis, config } = installation;
  await arrange('shared');
  const other = createRedis(config, { away: () => undefined });
  await other.ready(2_000);
  try {
    const quota = { requests: 50, windowSeconds: 60 };
    const instances = [onlyMaster(redis), ...other.all()].map((master) =>
      sources({ gates: openTo(master), quota }),
    );
    const states = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => request('shared', 'e', instances[index % 2])),
    );
    expect(states.filter(({ allowed }) => allowed)).toHaveLength(50);
  } finally {
    other.disconnect();
  }
});

it('counts windows of different length apart, each with its own end', async () => {
  await arrange('windows');
  expect(await request('windows')).toMatchObject({ limit: 3, windowSeconds: 60, remaining: 2 });
  await arrange('windows', { store: { quota: { requests: 9, window_seconds: 10 } } });
  const shorter = await request('windows');
  expect(shorter).toMatchObject({ limit: 9, windowSeconds: 10, remaining: 8 });
  expect(shorter.resetSeconds).toBeLessThanOrEqual(10);
  // A changed number goes on with what was counted.
  await arrange('windows', { store: { quota: { requests: 5 } } });
  const longer = await request('windows');
  expect(longer).toMatchObject({ limit: 5, windowSeconds: 60, remaining: 3 });
  expect(longer.resetSeconds).toBeGreaterThan(50);
});

it.each([
  ['session_ended', { session: 'somebody else' }],
  ['key_not_active', { status: 'inactive' as const }],
  ['store_blocked', { store: { record_status: 'blocked' as const } }],
])('takes nothing for a token that does not pass: %s', async (reason, arranged) => {
  const { redis } = installation;
  const { prefix } = sources();
  await arrange(reason, arranged);
  expect(await authorizeAndCount(sources(), claimsOf(reason), withDeadline)).toBe(reason);
  expect(await redis.exists(redisKeys(prefix, 'e', reason).quota(60))).toBe(0);
  await arrange(reason);
  expect(await remaining(reason)).toBe(2);
});

it('takes nothing for a request that was counted before', async () => {
  await arrange('held');
  expect(await authorize(sources(), claimsOf('held'), withDeadline)).toEqual(['order']);
  expect(await remaining('held')).toBe(2);
});

it('gives an end to a count that lost its own', async () => {
  const { redis } = installation;
  const { prefix } = sources();
  await arrange('endless');
  const name = redisKeys(prefix, 'e', 'endless').quota(60);
  await redis.set(name, '1');
  expect(await request('endless')).toMatchObject({ remaining: 1, resetSeconds: 60 });
  expect(await redis.pttl(name)).toBeGreaterThan(0);
});

it('throws when Redis is away: an outage is no refusal', async () => {
  const { config } = installation;
  const redis = createRedis(
    { ...config, redis: { ...config.redis, url: 'redis://127.0.0.1:1', commandTimeoutMs: 100 } },
    { away: () => undefined },
  );
  try {
    const [master] = redis.all();
    if (master === undefined) throw new Error('there is no master');
    await expect(request('s', 'e', sources({ gates: openTo(master) }))).rejects.toBeInstanceOf(Error);
  } finally {
    redis.disconnect();
  }
});

it('survives that Redis forgets its scripts', async () => {
  await arrange('flushed');
  await request('flushed');
  await installation.redis.script('FLUSH');
  expect(await remaining('flushed')).toBe(1);
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
  expect(quotaState(counted, settings, null)).toEqual({
    limit: 3,
    windowSeconds: 60,
    ...state,
  });
});
