/** A projector publishes to a Redis of several masters while one of them is unreachable. */
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startPublisher } from '#projector/access/publisher.ts';
import { createMetrics } from '#projector/metrics.ts';
import { onlyMaster } from '#shared/redis-masters.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { idsIn } from '#test/read-models.ts';

const installation = useInstallation({ oneRedis: true });

it('a projector publishes to the reachable masters, and to the other one once it is back', async () => {
  const { config, databases, environment, redis } = installation;
  const { control } = databases;
  const pending = { publish_pending: true };
  const records = {
    access_keys: { secret_hashes: [], scopes: ['order'], status: 'active', version: 5 },
    store_access: { access_status: 'active', record_status: 'active', version: 5 },
    revoked_sessions: { client_id: 'c', expires_at: new Date(Date.now() + 60_000) },
  };
  for (const store_id of ['away', 'there']) {
    for (const [name, record] of Object.entries(records)) {
      const one = { _id: `${name} ${store_id}`, environment, store_id, ...record, ...pending };
      await control.collection<typeof one>(name).insertOne(one);
    }
  }
  const left = async () =>
    (await Promise.all(Object.keys(records).map((name) => idsIn(control, name, pending)))).flat();
  let isBack = false;
  const metrics = createMetrics();
  const failures: string[] = [];
  const publisher = startPublisher({
    redis: { find: (name) => (!isBack && name.includes('away') ? undefined : onlyMaster(redis)) },
    config,
    control,
    logger: pino({}, { write: (line) => failures.push(line) }),
    metrics,
  });
  onTestFinished(() => publisher.stop());
  const shown = async () => (await metrics.accessPending.get()).values[0]?.value;
  await eventually('it has tried all', () => failures.length > 0);
  expect(await left()).toEqual(Object.keys(records).map((name) => `${name} away`));
  expect(failures).toEqual([expect.stringContaining('a master of the Redis cluster is away')]);
  expect(await shown()).toBe(3);
  isBack = true;
  await eventually(
    'nothing is left',
    async () => (await left()).length === 0 && (await shown()) === 0,
  );
});
