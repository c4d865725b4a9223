/**
 * MongoDB hands over politely, as in a rolling upgrade: its connections stay open, and its errors
 * say that it is no primary.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createReaderClient } from '#shared/mongodb.ts';
import { readConfig } from '#shared/config.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startReplicaSet, type ReplicaSet } from '../../faults/servers/replica-set.ts';

const installation = useInstallation();
let mongodb: ReplicaSet;
beforeAll(async () => {
  mongodb = await startReplicaSet(1);
});
afterAll(() => mongodb?.close());

it('an error reply of a raw command reaches the driver decoded, and its monitoring continues', async () => {
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
  await eventually('it reads again', () => read().then(Boolean, () => false));
});
