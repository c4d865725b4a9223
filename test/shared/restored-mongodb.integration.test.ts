/**
 * A database restored from a snapshot of before an election: its primary's election is older than
 * the newest that a client knows.
 */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { MongoClient } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import { createReaderClient, createWriterClient } from '#shared/mongodb.ts';
import { readConfig } from '#shared/config.ts';
import { useFolder } from '#test/folder.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startReplicaSet } from '../faults/servers/replica-set.ts';

const installation = useInstallation();
const folder = useFolder();

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
  const answers = (client: MongoClient) =>
    client
      .db('x')
      .collection('a')
      .findOne()
      .then(
        () => true,
        () => false,
      );
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
