import type { Db, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, createInstallation, type Installation } from '#test/installation.ts';
import { createWriterClient, forSnapshots } from '#shared/mongodb.ts';

let installation: Installation;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  installation = await createInstallation();
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
  await installation?.close();
});

it('reads of a snapshot session see one moment, also with a client that reads by majority', async () => {
  for (const round of [1, 2]) {
    await client.withSession({ snapshot: true }, async (session) => {
      const reads = forSnapshots(db);
      const count = async (name: string) =>
        (await reads.collection(name).find({}, { session }).toArray()).length;
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
