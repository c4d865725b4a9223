import { beforeAll, beforeEach, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import {
  type AccessKey,
  type ControlCollections,
  controlCollections,
} from '#shared/access/access-keys.ts';
import {
  newReconciliation,
  publishAll,
  publishedKey,
  redisKeys,
  reconcileAccess,
} from '#shared/access/grants.ts';

const installation = useInstallation({ oneRedis: true });
let control: ControlCollections;
beforeAll(async () => {
  control = controlCollections(installation.databases.control);
});
beforeEach(() => control.keys.deleteMany({}));

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

const reconcile = async (
  onRead: () => void = () => undefined,
  signal = new AbortController().signal,
) => {
  const found = newReconciliation();
  const options: Parameters<typeof reconcileAccess>[0] = {
    master: onlyMaster(installation.redis),
    prefix: prefix(),
    control,
    environments: ['e'],
    bounded: (read) => {
      onRead();
      return read(AbortSignal.timeout(5_000));
    },
    signal,
  };
  await reconcileAccess(options, found);
  return found;
};

it('reconciling writes exactly the members that Redis lacks, or has older or different', async () => {
  const { redis } = installation;
  await control.keys.insertMany([
    key('same', 5),
    key('older', 5, { status: 'inactive' }),
    key('missing', 5),
    key('otherwise', 5),
    key('revoked', 5, { status: 'revoked' }),
    key('elsewhere', 5, { environment: 'other' }),
  ]);
  const held = [key('same', 5), key('older', 4), key('revoked', 7)];
  await publishAll(
    onlyMaster(redis),
    held.map((one) => publishedKey(prefix(), one)),
  );
  await redis.zadd(keysOf().grant('otherwise'), 5, 'nonsense that sorts above');
  expect(await reconcile()).toEqual({
    compared: 5,
    repaired: 4,
    sessionsEnded: 0,
    ahead: 0,
    revokedInRedis: [],
  });
  expect(await heldGrant('older')).toEqual(['inactive order', '5']);
  for (const id of ['missing', 'otherwise'])
    expect(await heldGrant(id)).toEqual(['active order', '5']);
  expect((await heldGrant('revoked'))[0]).toBe('revoked order');
  expect(await heldGrant('elsewhere', 'other')).toEqual([]);
  expect(await reconcile()).toMatchObject({ compared: 5, repaired: 0 });
});

it('reconciling compares all records in batches, and stops when aborted', async () => {
  await control.keys.insertMany(times(1_203, (index) => key(`k${index}`, 1)));
  const ending = new AbortController();
  let reads = 0;
  // Sessions, two batches, and a third one, which is read while the second is compared.
  const onRead = () => {
    reads += 1;
    if (reads === 4) ending.abort(new Error('enough'));
  };
  await expect(reconcile(onRead, ending.signal)).rejects.toThrow('enough');
  expect(await reconcile()).toMatchObject({ compared: 1_203, repaired: 203 });
  expect(await heldGrant('k1202')).toEqual(['active order', '1']);
});
