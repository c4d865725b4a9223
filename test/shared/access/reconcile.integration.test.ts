import { beforeAll, beforeEach, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import {
  type AccessKey,
  type ControlCollections,
  controlCollections,
  type StoreAccess,
} from '#shared/access/access-keys.ts';
import { publishAll, publishedKey, redisKeys, noteRevocation, reconcileAccess } from '#shared/access/grants.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';

const installation = useInstallation({ oneRedis: true });
let control: ControlCollections;
beforeAll(async () => {
  control = controlCollections(controlDatabase(installation.mongodb, installation.config.namePrefix));
});
beforeEach(() =>
  Promise.all([control.keys.deleteMany({}), control.stores.deleteMany({}), control.revokedSessions.deleteMany({})]),
);

const prefix = () => installation.config.namePrefix;
const keysOf = (environment = 'e') => redisKeys(prefix(), environment, 's1');
const heldGrant = (id: string, environment = 'e') =>
  installation.redis.zrange(keysOf(environment).grant(id), '0', '-1', 'WITHSCORES');

function key(_id: string, version: number, changes: Partial<AccessKey> = {}): AccessKey {
  return {
    _id,
    environment: 'e',
    store_id: 's1',
    secret_hashes: [],
    scopes: ['order'],
    status: 'active',
    sequence: 1,
    version,
    updated_at: new Date(),
    ...changes,
  };
}

const reconcile = (onRead: () => void = () => undefined, signal = new AbortController().signal) =>
  reconcileAccess({
    master: onlyMaster(installation.redis),
    prefix: prefix(),
    control,
    environments: ['e'],
    bounded: (read) => {
      onRead();
      return read(AbortSignal.timeout(5_000));
    },
    signal,
  });

it('writes what Redis has older, otherwise or not at all, and nothing else', async () => {
  const { redis } = installation;
  await control.keys.insertMany([
    key('same', 5),
    key('older', 5, { status: 'inactive' }),
    key('missing', 5),
    key('otherwise', 5),
    key('revoked', 5, { status: 'revoked' }),
    key('elsewhere', 5, { environment: 'other' }),
  ]);
  await publishAll(onlyMaster(redis), [publishedKey(prefix(), key('same', 5))]);
  await publishAll(onlyMaster(redis), [publishedKey(prefix(), key('older', 4))]);
  await redis.zadd(keysOf().grant('otherwise'), 5, 'nonsense that sorts above');
  await publishAll(onlyMaster(redis), [publishedKey(prefix(), key('revoked', 7))]);
  expect(await reconcile()).toEqual({
    compared: 5,
    repaired: 4,
    sessionsEnded: 0,
    ahead: 0,
    revokedInRedis: [],
  });
  expect(await heldGrant('older')).toEqual(['inactive order', '5']);
  expect(await heldGrant('missing')).toEqual(['active order', '5']);
  expect(await heldGrant('otherwise')).toEqual(['active order', '5']);
  expect((await heldGrant('revoked'))[0]).toBe('revoked order');
  expect(await heldGrant('elsewhere', 'other')).toEqual([]);
  expect(await reconcile()).toMatchObject({ compared: 5, repaired: 0 });
});

it('keeps what Redis has newer, and names the keys that are revoked there', async () => {
  const { redis } = installation;
  await control.keys.insertMany([key('newer', 5), key('gone', 5)]);
  await publishAll(onlyMaster(redis), [publishedKey(prefix(), key('newer', 9, { status: 'inactive' }))]);
  await publishAll(onlyMaster(redis), [publishedKey(prefix(), key('gone', 4, { status: 'revoked' }))]);
  const found = await reconcile();
  expect(found).toMatchObject({ repaired: 0, ahead: 2 });
  expect(found.revokedInRedis.map(({ _id }) => _id)).toEqual(['gone']);
  expect(await heldGrant('newer')).toEqual(['inactive order', '9']);
  expect((await heldGrant('gone'))[0]).toBe('revoked order');
});

it('blocks stores and ends revoked sessions', async () => {
  const { redis } = installation;
  const store: StoreAccess = {
    _id: 'e/s1',
    environment: 'e',
    store_id: 's1',
    access_status: 'blocked',
    access_sequence: 1,
    record_status: 'active',
    record_sequence: -1,
    version: 3,
    updated_at: new Date(),
  };
  await control.stores.insertOne(store);
  await redis.zadd(keysOf().storeAccess, 2, 'active');
  const owner = { _id: 'a'.repeat(32), environment: 'e', store_id: 's1', client_id: 'k' };
  await noteRevocation(control.revokedSessions, owner, new Date(Date.now() + 60_000));
  await redis.mset(keysOf().session(owner._id), 'k', keysOf().session('b'.repeat(32)), 'k');
  expect(await reconcile()).toMatchObject({ compared: 1, repaired: 1, sessionsEnded: 1 });
  expect(await redis.zrange(keysOf().storeAccess, '0', '-1')).toEqual(['blocked']);
  expect(await redis.exists(keysOf().session(owner._id), keysOf().session('b'.repeat(32)))).toBe(1);
});

it('compares all of them, in batches, and ends when it is aborted', async () => {
  await control.keys.insertMany(Array.from({ length: 1_203 }, (_, index) => key(`k${index}`, 1)));
  const ending = new AbortController();
  let reads = 0;
  // Of sessions, of two batches, and of a third one, which is read while the second is compared.
  const onRead = () => {
    reads += 1;
    if (reads === 4) ending.abort(new Error('enough'));
  };
  await expect(reconcile(onRead, ending.signal)).rejects.toThrow('enough');
  expect(await reconcile()).toMatchObject({ compared: 1_203, repaired: 203 });
  expect(await heldGrant('k1202')).toEqual(['active order', '1']);
});
