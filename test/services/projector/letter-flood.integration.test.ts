/** The cost of poison messages for valid ones. Prints the figures. */

import { afterEach, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, DEAD_LETTERS } from '#shared/read-models/collections.ts';
import { orderMessage } from '#test/events.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { processorMs } from '#test/patience.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, readModels } from '#test/read-models.ts';

const GOOD = 3_000;

describe('a flood of poison', () => {
  const installations: Installation[] = [];
  afterEach(async () => {
    for (const installation of installations.splice(0)) await installation.close();
  });

  const order = (storeId: string, id: string) => orderMessage(id, { storeId });
  /** Poison of every kind: not JSON, not an event, an event with invalid data. */
  const poison = (index: number) => {
    const { key, value } = order('s1', `poison${index}`);
    const values = [
      `{"no": JSON ${index}`,
      '{"specversion":"0.3"}',
      value.replace('"1.00"', '"a fortune"'),
    ] as const;
    return { key, value: values[index % values.length] ?? '' };
  };
  const open = async (partitions: number) => {
    const installation = await createInstallation({ partitions });
    installations.push(installation);
    return installation;
  };

  /** The time and processor time to apply a backlog. */
  async function project(poisonPerGood: 0 | 1): Promise<{ tookMs: number; processor: number }> {
    const installation = await open(1);
    const topic = changesTopic(installation.environment);
    await installation.send(
      topic,
      Array.from({ length: GOOD }, (_, index) => [
        order('s1', `o${index}`),
        ...(poisonPerGood === 0 ? [] : [poison(index)]),
      ]).flat(),
    );
    const projector = await startSilentProjector(installation);
    try {
      const begin = performance.now();
      const processor = await processorMs(() => caughtUp(installation));
      const tookMs = performance.now() - begin;
      const db = await readModels(installation);
      expect(await db.collection(COLLECTIONS.order).countDocuments()).toBe(GOOD);
      expect(await db.collection(DEAD_LETTERS).countDocuments()).toBe(GOOD * poisonPerGood);
      return { tookMs, processor };
    } finally {
      await projector.stop();
    }
  }

  it('hardly slows down valid messages between poison', async () => {
    const alone = await project(0);
    const among = await project(1);
    const rate = ({ tookMs }: { tookMs: number }) => Math.round((GOOD * 1_000) / tookMs);
    process.stdout.write(
      `valid alone ${rate(alone)}/s, mixed with as much poison ${rate(among)}/s\n`,
    );
    // Twice as many messages. Processor time does not depend on other processes.
    expect(among.processor).toBeLessThan(5 * alone.processor);
  });
});
