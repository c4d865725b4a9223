import type { Db } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, lettersIn } from '#shared/read-models/collections.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { generationCaughtUp, generationDb } from '#test/generations.ts';
import { readLog } from '#test/read-log.ts';
import { caughtUp, dump, idsIn } from '#test/read-models.ts';
import { runCommand, runJson } from './run-command.ts';

const installation = useInstallation({ partitions: 1 });
const projector = useRestartableProjector(installation);
let topic = '';
beforeAll(async () => {
  topic = changesTopic(installation.environment);
  await projector.start();
});

/**
 * Publishes an order and makes a dead letter of it in both generations, as if an older release did
 * not understand it.
 */
async function publishRefused(id: string): Promise<void> {
  await projector.stop();
  await installation.publish([orderEvent(id)]);
  const message = (await readLog(installation, topic)).at(-1);
  if (message === undefined) throw new Error('it was published');
  const rejection = new EventRejected('unknown_schema_version', 'not known then');
  const refused = toDeadLetter(topic, 0, message, rejection);
  const position = refused.offset + 1;
  for (const db of both()) {
    await lettersIn(db).insertOne({ ...refused });
    await checkpointsIn(db).updateOne({ _id: `${topic}/0` }, { $set: { position } });
  }
  await projector.start();
}
const both = () => [1, 2].map((number) => generationDb(installation, number));
const poison = () => installation.send(topic, [{ key: 's1', value: 'poison' }]);
const letters = async (words: string) => {
  const { code, stderr } = await runCommand(installation.env, `dead-letters ${words}`);
  expect([code, stderr]).toEqual([0, '']);
};
/** The offsets of the dead letters, and the ids of the orders. */
const found = async (db: Db) => [
  (
    await lettersIn(db)
      .find({}, { sort: { offset: 1 } })
      .toArray()
  ).map(({ offset }) => offset),
  await idsIn(db, COLLECTIONS.order),
];

it('decisions about dead letters apply in a rebuild and in a kept generation', async () => {
  await poison();
  await installation.publish([orderEvent('o1')]);
  await caughtUp(installation);
  await letters(`drop ${topic}/0/0 --yes`);
  await runJson(installation.env, 'rebuild');
  await publishRefused('o2');
  await poison();
  for (const [index, db] of both().entries()) {
    await generationCaughtUp(installation, index + 1);
    expect(await found(db)).toEqual([[2, 3], ['s1/o1']]);
  }
  await letters(`retry ${topic}/0/2`);
  await letters(`drop ${topic}/0/3 --yes`);
  await runJson(installation.env, 'rollback');
  const [first, second] = await Promise.all(both().map(dump));
  expect(first).toEqual(second);
  for (const db of both()) expect(await found(db)).toEqual([[], ['s1/o1', 's1/o2']]);
});
