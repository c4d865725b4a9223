import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startReconciler } from '#projector/access/reconciler.ts';
import { createMetrics } from '#projector/metrics.ts';
import type { Config } from '#shared/config.ts';
import { onlyMaster } from '#shared/redis-masters.ts';

it('compares nothing, again and again, while a master does not answer', async () => {
  const asked = Promise.withResolvers<void>();
  const there = { info: () => Promise.resolve('run_id:1\r\n') } as unknown as Redis;
  const away = {
    info: () => {
      asked.resolve();
      return Promise.reject(new Error('Connection is closed.'));
    },
  } as unknown as Redis;
  const masters = [onlyMaster(there), onlyMaster(away)];
  let reads = 0;
  const collection = {
    find: () => {
      reads += 1;
      return { toArray: () => Promise.resolve([]), sort: () => ({ limit: collection.find }) };
    },
  };
  const reconciler = startReconciler({
    redis: {
      all: () => masters,
      find: () => undefined,
      isWhole: () => true,
      refusal: () => null,
      onChange: () => undefined,
      ready: () => Promise.resolve(),
      disconnect: () => undefined,
    },
    config: { namePrefix: 'p', environments: ['e'] } as Config,
    control: { collection: () => collection } as unknown as Db,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
  });
  await asked.promise;
  await reconciler.stop();
  expect(reads).toBe(0);
});
