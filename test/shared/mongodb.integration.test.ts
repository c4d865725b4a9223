import type { Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { Registry } from 'prom-client';
import { createWriterClient, forSnapshots, poolMetrics, watchPool } from '#shared/mongodb.ts';
import { metricFactory } from '#shared/operations.ts';

const installation = useInstallation();
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  client = createWriterClient(installation.config, 'test');
  db = client.db(`${installation.config.namePrefix}_snapshots`);
  await db.collection('a').insertOne({ n: 1 });
  await db.collection('b').insertOne({ n: 1 });
  // A collection that was just made is in no snapshot for a moment.
  await eventually('snapshots have the collections', async () => {
    const found = db.collection('b').find({}, { readConcern: 'snapshot' }).toArray();
    return (await found.catch(() => [])).length === 1;
  });
});
afterAll(async () => {
  await client?.close();
});

it('reads of a snapshot session see one moment, also with a client that reads by majority', async () => {
  for (const round of [1, 2]) {
    await client.withSession({ snapshot: true }, async (session) => {
      const reads = forSnapshots(db);
      const count = async (name: string) => (await reads.collection(name).find({}, { session }).toArray()).length;
      expect(await count('a')).toBe(round);
      await db.collection('a').insertOne({ n: 2 });
      await db.collection('b').insertOne({ n: 2 });
      expect([await count('a'), await count('b')]).toEqual([round, round]);
      const [row] = await reads
        .collection('b')
        .aggregate([{ $count: 'n' }], { session })
        .toArray();
      expect(row).toEqual({ n: round });
    });
  }
});

it('each command is timed, those of a transaction too, and no connection counts as used afterwards', async () => {
  const metrics = poolMetrics(metricFactory(new Registry()));
  const watched = createWriterClient(installation.config, 'test');
  try {
    await watched.connect();
    watchPool(watched, metrics);
    const collection = watched.db(db.databaseName).collection('a');
    const commands = async (act: () => Promise<unknown>) => {
      metrics.seconds.reset();
      await act();
      const { values } = await metrics.seconds.get();
      return values.find(({ metricName }) => metricName?.endsWith('_count'))?.value;
    };
    expect(await commands(() => Promise.all([1, 2, 3].map((n) => collection.findOne({ n }))))).toBe(3);
    const transaction = () =>
      watched.withSession((session) =>
        session.withTransaction(async () => {
          await collection.insertOne({ n: 3 }, { session });
          await collection.findOne({ n: 3 }, { session });
        }),
      );
    // And its commit.
    expect(await commands(transaction)).toBeGreaterThanOrEqual(3);
    for (const gauge of [metrics.inUse, metrics.waiting]) {
      expect((await gauge.get()).values.map(({ value }) => value)).toEqual([0]);
    }
  } finally {
    await watched.close();
  }
});
