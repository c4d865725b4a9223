/** What a flood of poison costs the good messages. The figures are printed. */

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
  /** Of every kind: no JSON, no event, an event with wrong data. */
  const poison = (index: number) => {
    const { key, value } = order('s1', `poison${index}`);
    const values = [`{"no": JSON ${index}`, '{"specversion":"0.3"}', value.replace('"1.00"', '"a fortune"')] as const;
    return { key, value: values[index % values.length] ?? '' };
  };
  const open = async (partitions: number) => {
    const installation = await createInstallation({ partitions });
    installations.push(installation);
    return installation;
  };

  /** How long a backlog takes that is worked off, and how much of a processor. */
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

  it('leaves the good messages between it nearly as quick as they are alone', async () => {
    const alone = await project(0);
    const among = await project(1);
    const rate = ({ tookMs }: { tookMs: number }) => Math.round((GOOD * 1_000) / tookMs);
    process.stdout.write(`good alone ${rate(alone)}/s, with as many poison messages between ${rate(among)}/s\n`);
    // Twice as many messages. What else the machine does at one of the times costs this process nothing.
    expect(among.processor).toBeLessThan(5 * alone.processor);
  });
});
