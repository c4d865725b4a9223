import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startPublisher } from '#projector/access/publisher.ts';
import type { Config } from '#shared/config.ts';
import { createMetrics } from '#projector/metrics.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import { eventually } from '#test/installation.ts';

/** A server of Redis that does what it is told. */
function healthy(): Redis {
  const commands = {
    zadd: () => commands,
    zremrangebyrank: () => commands,
    del: () => commands,
    zrem: () => commands,
    exec: () => Promise.resolve([[null, 1]]),
  };
  return { pipeline: () => commands } as unknown as Redis;
}

it('publishes what healthy masters hold, whatever another one cannot be told', async () => {
  const of = (storeId: string) => ({ environment: 'e', store_id: storeId, version: 1 });
  const key = (id: string, storeId: string) => ({
    key: { _id: id, ...of(storeId), secret_hashes: [], scopes: [], status: 'active' },
  });
  const store = (storeId: string) => ({
    store: { _id: `e/${storeId}`, ...of(storeId), access_status: 'active', record_status: 'active' },
  });
  const session = (id: string, storeId: string) => ({ session: { _id: id, ...of(storeId) } });
  let pending: object[] = [
    key('k1', 'away'),
    key('k2', 'there'),
    store('away'),
    store('there'),
    session('a', 'away'),
    session('b', 'there'),
  ];
  const published = new Set<string>();
  const collection = {
    aggregate: () => ({ toArray: () => Promise.resolve(pending) }),
    countDocuments: () => Promise.resolve(0),
    updateOne: ({ _id }: { _id: string }) => Promise.resolve(published.add(_id)),
  };
  const redis = healthy();
  const metrics = createMetrics();
  const failures: string[] = [];
  const publisher = startPublisher({
    redis: { find: (name) => (name.includes('away') ? undefined : onlyMaster(redis)) },
    config: { namePrefix: 'p', environments: ['e'] } as Config,
    control: { collection: () => collection } as unknown as Db,
    logger: pino({}, { write: (line) => failures.push((JSON.parse(line) as { error: string }).error) }),
    metrics,
  });
  const left = async () => (await metrics.accessPending.get()).values[0]?.value;
  try {
    await eventually('it has tried all', () => failures.length > 0);
    expect(published).toEqual(new Set(['k2', 'e/there', 'b']));
    expect(failures).toEqual([expect.stringContaining('a master of the Redis cluster is away')]);
    expect(await left()).toBe(3);
    pending = [];
    await eventually('nothing is left', async () => (await left()) === 0);
  } finally {
    await publisher.stop();
  }
});
