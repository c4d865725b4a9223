import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startReconciler } from '#projector/access/reconciler.ts';
import { createMetrics } from '#projector/metrics.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { onlyMaster, type RedisMasters } from '#shared/redis-masters.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';

const installation = useInstallation({ oneRedis: true });

it('compares no master while another one is away, and all once it is back', async () => {
  const { config, databases, environment, redis } = installation;
  await controlCollections(databases.control).keys.insertOne({
    _id: 'client',
    environment,
    store_id: 's1',
    secret_hashes: [],
    scopes: ['order'],
    status: 'active',
    sequence: 1,
    version: 5,
    updated_at: new Date(),
  });
  const grant = redisKeys(config.namePrefix, environment, 's1').grant('client');
  const away = new Redis(1, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
  away.on('error', () => undefined);
  let masters = [onlyMaster(redis), onlyMaster(away)];
  const failed = Promise.withResolvers<void>();
  const log = { write: (line: string) => line.includes('cannot be compared yet') && failed.resolve() };
  const reconciler = startReconciler({
    redis: { all: () => masters, isWhole: () => true } as Partial<RedisMasters> as RedisMasters,
    config,
    control: databases.control,
    logger: pino({ level: 'debug' }, log),
    metrics: createMetrics(),
  });
  await failed.promise;
  expect(await redis.exists(grant)).toBe(0);
  masters = [onlyMaster(redis)];
  await eventually('the grant is in Redis', async () => (await redis.exists(grant)) === 1);
  await reconciler.stop();
});
