import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyMaster } from '#shared/redis-masters.ts';
import {
  decodeGrant,
  encodeGrant,
  publishAll,
  publishedBlocking,
  publishedKey,
  redisKeys,
} from '#shared/access/grants.ts';
import type { AccessKey, StoreAccess } from '#shared/access/access-keys.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation({ oneRedis: true });
});
afterAll(() => installation.close());

const key = (version: number, status: AccessKey['status'] = 'active'): AccessKey => ({
  _id: 'k1',
  environment: 'e',
  store_id: 's1',
  secret_hashes: [],
  scopes: ['order'],
  status,
  sequence: version,
  version,
  updated_at: new Date(),
});

describe('a grant', () => {
  it('is written and read back', () => {
    for (const grant of [
      { status: 'active' as const, scopes: ['store' as const, 'menu' as const] },
      { status: 'revoked' as const, scopes: [] },
    ]) {
      expect(decodeGrant(encodeGrant(grant))).toEqual(grant);
    }
    expect(decodeGrant(undefined)).toBeNull();
    expect(decodeGrant('nonsense')).toBeNull();
  });

  it('is never overtaken by an older version, in whatever order they come', async () => {
    const { redis, config } = installation;
    const { grant } = redisKeys(config.namePrefix, 'e', 's1');
    const publish = (version: number, status?: AccessKey['status']) =>
      publishAll(onlyMaster(redis), [publishedKey(config.namePrefix, key(version, status))]);
    await publish(3);
    await publish(10, 'inactive');
    await publish(9, 'active');
    await publish(10, 'inactive');
    expect(await redis.zrange(grant('k1'), '0', '-1', 'WITHSCORES')).toEqual(['inactive order', '10']);
    await publish(11, 'active');
    expect(await redis.zrange(grant('k1'), '0', '-1')).toEqual(['active order']);
    await Promise.all(
      [14, 12, 15, 13].map((version) => publish(version, version === 15 ? 'active' : 'inactive')),
    );
    expect(await redis.zrange(grant('k1'), '0', '-1', 'WITHSCORES')).toEqual(['active order', '15']);
  });

  it('that is revoked stays revoked, whatever version comes after', async () => {
    const { redis, config } = installation;
    const { grant } = redisKeys(config.namePrefix, 'e', 's1');
    await publishAll(onlyMaster(redis), [publishedKey(config.namePrefix, key(20, 'revoked'))]);
    await publishAll(onlyMaster(redis), [publishedKey(config.namePrefix, key(2 ** 50, 'active'))]);
    expect(await redis.zrange(grant('k1'), '0', '-1')).toEqual(['revoked order']);
  });
});

it('a store is blocked while either source says so', async () => {
  const { redis, config } = installation;
  const { storeAccess } = redisKeys(config.namePrefix, 'e', 's1');
  const base: StoreAccess = {
    _id: 'e/s1',
    environment: 'e',
    store_id: 's1',
    access_status: 'active',
    access_sequence: 1,
    record_status: 'active',
    record_sequence: 1,
    version: 1,
    updated_at: new Date(),
  };
  for (const [version, access, record, expected] of [
    [1, 'active', 'active', 'active'],
    [2, 'blocked', 'active', 'blocked'],
    [3, 'active', 'blocked', 'blocked'],
    [2, 'active', 'active', 'blocked'],
    [4, 'active', 'active', 'active'],
  ] as const) {
    const store = { ...base, version, access_status: access, record_status: record };
    await publishAll(onlyMaster(redis), [publishedBlocking(config.namePrefix, store)]);
    expect(await redis.zrange(storeAccess, '0', '-1')).toEqual([expected]);
  }
});
