import { beforeAll, describe, expect, it } from 'vitest';
import { checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, lettersIn } from '#shared/read-models/collections.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { generationCaughtUp, generationDb, statesOf } from '#test/generations.ts';
import { readLog } from '#test/read-log.ts';
import { caughtUp, dump, idsIn } from '#test/read-models.ts';
import { runCommand, runJson } from './run-command.ts';

describe('a decision about dead letters', () => {
  const installation = useInstallation({ partitions: 1 });
  const projector = useRestartableProjector(installation);
  let topic = '';
  beforeAll(async () => {
    topic = changesTopic(installation.environment);
    await projector.start();
  });

  /**
   * Publishes an order and makes a dead letter of it in generations, as if an older release did not
   * understand it.
   */
  async function publishRefused(id: string, ...generations: number[]): Promise<void> {
    await projector.stop();
    await installation.publish([orderEvent(id)]);
    const message = (await readLog(installation, topic)).at(-1);
    if (message === undefined) throw new Error('it was published');
    const rejection = new EventRejected('unknown_schema_version', 'not known then');
    const refused = toDeadLetter(topic, 0, message, rejection);
    const position = refused.offset + 1;
    for (const number of generations) {
      const db = generationDb(installation, number);
      await lettersIn(db).insertOne({ ...refused });
      await checkpointsIn(db).updateOne({ _id: `${topic}/0` }, { $set: { position } });
    }
    await projector.start();
  }
  const letters = async (words: string) => {
    const { code, stderr } = await runCommand(installation.env, `dead-letters ${words}`);
    expect([code, stderr]).toEqual([0, '']);
  };
  const offsetsIn = async (number: number) => {
    const found = lettersIn(generationDb(installation, number)).find({}, { sort: { offset: 1 } });
    return (await found.toArray()).map(({ offset }) => offset);
  };
  const ordersIn = (number: number) => idsIn(generationDb(installation, number), COLLECTIONS.order);

  const bothAreEqual = async () =>
    expect(await dump(generationDb(installation, 2))).toEqual(
      await dump(generationDb(installation, 1)),
    );

  it('applies in a rebuild: dropped and retried letters do not return', async () => {
    await installation.publish([orderEvent('o0')]);
    await installation.send(topic, [
      { key: 's1', value: 'poison 1' },
      { key: 's1', value: 'poison 2' },
    ]);
    await caughtUp(installation);
    await publishRefused('o3', 1);
    await publishRefused('o4', 1);
    expect(await offsetsIn(1)).toEqual([1, 2, 3, 4]);
    await letters(`drop ${topic}/0/1 --yes`);
    await letters(`retry ${topic}/0/3`);
    // It stays dropped, although this release could apply it.
    await letters(`drop ${topic}/0/4 --yes`);
    expect(await ordersIn(1)).toEqual(['s1/o0', 's1/o3']);

    const { flipped } = await runJson<{ flipped: object }>(installation.env, 'rebuild');
    expect(flipped).toEqual({ from: 1, to: 2 });
    expect(await offsetsIn(2)).toEqual([2]);
    expect(await ordersIn(2)).toEqual(['s1/o0', 's1/o3']);
    await bothAreEqual();
  });

  it('applies in a kept generation', async () => {
    await publishRefused('o5', 1, 2);
    await installation.send(topic, [{ key: 's1', value: 'poison 3' }]);
    await generationCaughtUp(installation, 1);
    await generationCaughtUp(installation, 2);
    expect([await offsetsIn(1), await offsetsIn(2)]).toEqual([
      [2, 5, 6],
      [2, 5, 6],
    ]);
    await letters(`drop ${topic}/0/6 --yes`);
    await letters(`retry ${topic}/0/5`);
    await runJson(installation.env, 'rollback');
    expect(await statesOf(installation)).toEqual(['1 live', '2 kept']);
    expect(await offsetsIn(1)).toEqual([2]);
    expect(await ordersIn(1)).toEqual(['s1/o0', 's1/o3', 's1/o5']);
    await bothAreEqual();
  });
});
