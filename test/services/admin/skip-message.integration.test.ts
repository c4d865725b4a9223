/** A message that always fails becomes a dead letter when an operator skips it. */
import { beforeAll, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { lettersIn, STAMPS } from '#shared/read-models/collections.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { expectRefused, runCommand } from './run-command.ts';

const installation = useInstallation({ partitions: 1 });
const projector = useProjector(installation);
let topic: string;
beforeAll(async () => {
  topic = changesTopic(installation.environment);
});

const publish = (storeId: string, id: string) =>
  installation.publish([orderEvent(id, { storeId })]);
const orders = async () => idsIn(await readModels(installation), 'orders');
const run = (words: string) => runCommand(installation.env, `dead-letters ${words}`);
const skip = (offset: number) =>
  run(`skip --topic ${topic} --partition 0 --offset ${offset} --yes`);

it('a message that always fails is skipped by an operator if another transaction holds its documents', async () => {
  await publish('s1', 'before');
  await caughtUp(installation);
  const db = await readModels(installation);
  await installation.mongodb.withSession(async (session) => {
    session.startTransaction();
    const held = { _id: 's1' as never };
    await db.collection(STAMPS).updateOne(held, { $set: { held: true } }, { session });
    await publish('s1', 'held');
    await publish('s2', 'waits');
    await eventually('its failures show', async () => {
      const failing = await projector.metrics.failing.get();
      return failing.values.some(({ value }) => value >= 3);
    });
    expect(await orders()).toEqual(['s1/before']);
    // An applied message, and one that waits behind it.
    for (const offset of [0, 2]) await expectRefused(skip(offset), 'is intact');
    expect(await skip(1)).toMatchObject({
      code: 0,
      stdout: `${topic}/0 continues at 2; the dead letter is ${topic}/0/1\n`,
    });
    await eventually('what is behind it is applied', async () =>
      (await orders()).includes('s2/waits'),
    );
    const reason = 'projection_failed';
    expect(await lettersIn(db).find().toArray()).toMatchObject([
      { reason, key: null, value: null, headers: [], cut: true },
    ]);
    await session.abortTransaction();
  });
  const retried = await run('retry --all');
  expect(retried).toMatchObject({ code: 0, stdout: 'applied 1, outdated 0, still dead 0\n' });
  expect(await orders()).toContain('s1/held');
});
