import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createWriterClient, poolMetrics, watchPool } from '#shared/mongodb.ts';
import { metricFactory } from '#shared/operations.ts';
import { useInstallation } from '#test/hooks.ts';

const installation = useInstallation();

it('each command is timed, also in transactions, and no connection counts as used afterwards', async () => {
  const metrics = poolMetrics(metricFactory(new Registry()));
  await using client = createWriterClient(installation.config, 'test');
  await client.connect();
  watchPool(client, metrics);
  const collection = client.db(`${installation.config.namePrefix}_timed`).collection('a');
  const commands = async (act: () => Promise<unknown>) => {
    metrics.seconds.reset();
    await act();
    const { values } = await metrics.seconds.get();
    return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value;
  };
  await collection.insertOne({ n: 1 });
  expect(await commands(() => Promise.all([1, 2, 3].map((n) => collection.findOne({ n }))))).toBe(3);
  const transaction = () =>
    client.withSession((session) =>
      session.withTransaction(async () => {
        await collection.insertOne({ n: 3 }, { session });
        await collection.findOne({ n: 3 }, { session });
      }),
    );
  // Including the commit.
  expect(await commands(transaction)).toBeGreaterThanOrEqual(3);
  for (const gauge of [metrics.inUse, metrics.waiting]) {
    expect((await gauge.get()).values.map(({ value }) => value)).toEqual([0]);
  }
});
