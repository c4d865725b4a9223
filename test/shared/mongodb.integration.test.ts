/** Clients of MongoDB: what is measured, where transactions read, and what they survive. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createReaderClient, createWriterClient, poolMetrics, watchPool } from '#shared/mongodb.ts';
import { metricFactory } from '#shared/operations.ts';
import { runInTransaction } from '#shared/projection/slice/checkpoint.ts';
import { eventually } from '#test/eventually.ts';
import { useFolder } from '#test/folder.ts';
import { useInstallation } from '#test/hooks.ts';
import { succeeds } from '#test/succeeds.ts';
import { startReplicaSet } from '../faults/servers/replica-set.ts';

const installation = useInstallation();
const folder = useFolder();

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

// It hands over politely, as in a rolling upgrade: its connections stay open, and its errors say that
// it is no primary.
it('an error reply of a raw command reaches the driver decoded, and its monitoring continues', async () => {
  const mongodb = await startReplicaSet(1);
  onTestFinished(() => mongodb.close());
  const config = readConfig({ ...installation.env, MONGODB_URI: mongodb.uri });
  await using client = createReaderClient(config, 'test');
  await client.connect();
  await using operator = new MongoClient(mongodb.uri);
  const read = () =>
    client.db('x').command({ aggregate: 'a', pipeline: [], cursor: {} }, { raw: true });
  const stepsDown = operator
    .db('admin')
    .command({ replSetStepDown: 2, secondaryCatchUpPeriodSecs: 1, force: true });
  const refused = await (async () => {
    for (;;) {
      try {
        await read();
        await sleep(1);
      } catch (error) {
        if (error instanceof MongoServerError && 'topologyVersion' in error) return error;
      }
    }
  })();
  await stepsDown.catch(() => undefined);
  expect(refused).toMatchObject({ topologyVersion: { processId: expect.anything() as unknown } });
  // The next heartbeat compares versions: an exception there would end this process.
  await eventually('it reads again', () => succeeds(read()));
});

// A snapshot of before an election: its primary’s election is older than the newest that a client
// knows.
it('clients that run on accept a MongoDB that was restored from before some elections, also in sessions', async () => {
  const [data, snapshot] = [join(folder, 'data'), join(folder, 'snapshot')];
  const mongodb = await startReplicaSet(1, { dataIn: data });
  onTestFinished(() => mongodb.close());
  const [server] = mongodb.servers;
  if (server === undefined) throw new Error('it has one member');
  await server.end();
  await cp(data, snapshot, { recursive: true });
  // Each start of a single member is an election.
  for (let start = 0; start < 3; start += 1) {
    if (server.isRunning()) await server.end();
    await server.start();
    await mongodb.whole();
  }
  const config = readConfig({ ...installation.env, MONGODB_URI: mongodb.uri });
  await using writer = createWriterClient(config, 'test', { heartbeatFrequencyMS: 500 });
  await using reader = createReaderClient(config, 'test');
  const answers = (client: MongoClient) => succeeds(client.db('x').collection('a').findOne());
  for (const client of [writer, reader]) expect(await answers(client)).toBe(true);
  await server.end();
  await rm(data, { recursive: true });
  await cp(snapshot, data, { recursive: true });
  await server.start();
  for (const client of [writer, reader])
    await eventually('it answers', () => answers(client), 60_000);
  await writer.withSession((session) =>
    session.withTransaction(() => writer.db('x').collection('a').insertOne({ n: 1 }, { session })),
  );
});
