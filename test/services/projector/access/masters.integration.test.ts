/** A projector publishes to a Redis of several masters while one of them is unreachable. */
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startPublisher } from '#projector/access/publisher.ts';
import { startReconciler } from '#projector/access/reconciler.ts';
import { createMetrics } from '#projector/metrics.ts';
import {
  type AccessKey,
  controlCollections,
  type StoreAccess,
} from '#shared/access/access-keys.ts';
import { publishAccess, redisKeys } from '#shared/access/grants.ts';
import { onlyMaster, type RedisMasters } from '#shared/redis-masters.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { idsIn } from '#test/read-models.ts';

const installation = useInstallation({ oneRedis: true });

const of = (store_id: string) => ({
  environment: installation.environment,
  store_id,
  version: 5,
  updated_at: new Date(),
});
const aKey = (_id: string, storeId = 's1'): AccessKey => ({
  _id,
  ...of(storeId),
  secret_hashes: [],
  scopes: ['order'],
  status: 'active',
  sequence: 1,
});
const aStoreAccess = (storeId: string): StoreAccess => ({
  _id: `${installation.environment}/${storeId}`,
  ...of(storeId),
  access_status: 'active',
  access_sequence: 1,
  record_status: 'active',
  record_sequence: 1,
});

it('a projector publishes to the reachable masters, and to the other one once it is back', async () => {
  const { config, databases, environment, redis } = installation;
  const { keys, stores, revokedSessions } = controlCollections(databases.control);
  const pending = { publish_pending: true } as const;
  const session = {
    environment,
    client_id: 'c',
    revoked_at: new Date(),
    expires_at: new Date(Date.now() + 60_000),
    ...pending,
  };
  for (const store_id of ['away', 'there']) {
    await keys.insertOne({ ...aKey(`key-${store_id}`, store_id), ...pending });
    await stores.insertOne({ ...aStoreAccess(store_id), ...pending });
    await revokedSessions.insertOne({ _id: `session-${store_id}`, store_id, ...session });
  }
  const names = [keys, stores, revokedSessions].map(({ collectionName }) => collectionName);
  const left = async () =>
    (await Promise.all(names.map((name) => idsIn(databases.control, name, pending)))).flat();
  let isBack = false;
  const metrics = createMetrics();
  const failures: string[] = [];
  const publisher = startPublisher({
    redis: { find: (name) => (!isBack && name.includes('away') ? undefined : onlyMaster(redis)) },
    config,
    control: databases.control,
    logger: pino({}, { write: (line) => failures.push(line) }),
    metrics,
  });
  onTestFinished(() => publisher.stop());
  const shown = async () => (await metrics.accessPending.get()).values[0]?.value;
  await eventually('it has tried all', () => failures.length > 0);
  expect(await left()).toEqual(['key-away', `${environment}/away`, 'session-away']);
  expect(failures).toEqual([expect.stringContaining('a master of the Redis cluster is away')]);
  expect(await shown()).toBe(3);
  isBack = true;
  await eventually(
    'nothing is left',
    async () => (await left()).length === 0 && (await shown()) === 0,
  );
});

/** Runs a reconciler until the test ends. @param all returns the masters of Redis. */
function reconciling(all: RedisMasters['all'], log = pino({ level: 'silent' })) {
  const { config, databases } = installation;
  const metrics = createMetrics();
  const reconciler = startReconciler({
    redis: { all, isWhole: () => true } as Partial<RedisMasters> as RedisMasters,
    config,
    control: databases.control,
    logger: log,
    metrics,
  });
  onTestFinished(() => reconciler.stop());
  return metrics;
}

it('a projector reconciles no master while one is away, and all once that one is back', async () => {
  const { config, databases, environment, redis } = installation;
  await controlCollections(databases.control).keys.insertOne(aKey('client'));
  const grant = redisKeys(config.namePrefix, environment, 's1').grant('client');
  const away = new Redis(1, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
  away.on('error', () => undefined);
  let masters = [onlyMaster(redis), onlyMaster(away)];
  const failed = Promise.withResolvers<void>();
  const write = (line: string) => line.includes('cannot be compared yet') && failed.resolve();
  reconciling(() => masters, pino({ level: 'debug' }, { write }));
  await failed.promise;
  expect(await redis.exists(grant)).toBe(0);
  masters = [onlyMaster(redis)];
  await eventually('the grant is in Redis', async () => (await redis.exists(grant)) === 1);
});

it('a projector notices within seconds that Redis is no longer ahead of MongoDB', async () => {
  const { config, databases, redis } = installation;
  const collections = controlCollections(databases.control);
  const restored = aKey('restored');
  const masters = [onlyMaster(redis)];
  const newer = { ...restored, version: 7 };
  await publishAccess({ find: () => masters[0] }, config.namePrefix, collections, newer);
  await collections.keys.insertOne(restored);
  const metrics = reconciling(() => masters);
  const ahead = async () => (await metrics.accessAhead.get()).values[0]?.value;
  await eventually('Redis is ahead', async () => (await ahead()) === 1, 60_000);
  await collections.keys.updateOne({ _id: 'restored' }, { $set: { version: 8 } });
  await eventually('it is no longer', async () => (await ahead()) === 0, 60_000);
});
