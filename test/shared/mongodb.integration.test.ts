import { MongoClient } from 'mongodb';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createWriterClient, poolMetrics, watchPool } from '#shared/mongodb.ts';
import { metricFactory } from '#shared/operations.ts';
import { runInTransaction } from '#shared/projection/slice/checkpoint.ts';
import { useInstallation } from '#test/hooks.ts';

const installation = useInstallation();

it('each command is timed, also in transactions, and a connection counts as used until it is back', async () => {
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
  expect(await commands(() => Promise.all([1, 2, 3].map((n) => collection.findOne({ n }))))).toBe(
    3,
  );
  const now = async (gauge: typeof metrics.inUse) => (await gauge.get()).values[0]?.value;
  const used: unknown[] = [];
  client.on('connectionCheckedOut', () => used.push(now(metrics.inUse)));
  const transaction = () =>
    client.withSession((session) =>
      session.withTransaction(async () => {
        await collection.insertOne({ n: 3 }, { session });
        await collection.findOne({ n: 3 }, { session });
      }),
    );
  // Including the commit.
  expect(await commands(transaction)).toBeGreaterThanOrEqual(3);
  expect(await Promise.all(used)).toContain(1);
  expect(await Promise.all([metrics.inUse, metrics.waiting].map(now))).toEqual([0, 0]);
});

it('a transaction reads from the primary, whatever the connection string says', async () => {
  const { namePrefix, mongodb } = installation.config;
  const uri = `${mongodb.uri}${mongodb.uri.includes('?') ? '&' : '?'}readPreference=secondaryPreferred`;
  await using elsewhere = new MongoClient(uri);
  const collection = elsewhere.db(`${namePrefix}_preferred`).collection('a');
  await elsewhere.withSession((session) =>
    runInTransaction(session, async () => {
      await collection.findOne({}, { session });
      await collection.insertOne({ n: 1 }, { session });
    }),
  );
  await using writer = createWriterClient({ mongodb: { ...mongodb, uri } }, 'test');
  expect(writer.readPreference.mode).toBe('primary');
});
