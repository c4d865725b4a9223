import type { Collection } from 'mongodb';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';

const BYTES = 2_000;
const POISON = 100;
const DAY_MS = 86_400_000;
const TEXT = 'no event, and forty characters of it at least';

describe('the space for dead letters', () => {
  const installation = useInstallation({
    partitions: 1,
    settings: {
      DEAD_LETTER_BYTES: String(BYTES),
      DEAD_LETTER_DAYS: '30',
      PROJECTOR_SLICE_EVENTS: '37',
    },
  });
  let projector: RunningProjector;
  let letters: Collection<DeadLetter>;
  let topic = '';
  const logged: string[] = [];
  beforeAll(async () => {
    topic = changesTopic(installation.environment);
    const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
    projector = await startProjector(installation.config, logger);
    letters = (await readModels(installation)).collection(DEAD_LETTERS);
  });
  afterAll(async () => {
    await projector?.stop();
  });

  /** The sum over all labels. */
  const metric = async (name: string) => {
    const found = await projector.metrics.registry.getSingleMetric(`store_data_${name}`)?.get();
    return found?.values.reduce((sum, { value }) => sum + value, 0);
  };
  const comesTo = (name: string, expected: number) =>
    eventually(`${name} is ${expected}`, async () => (await metric(name)) === expected);
  const poison = (count: number) => times(count, () => ({ key: 's1', value: TEXT }));

  it('keeps messages up to its bytes, then only positions and reasons', async () => {
    await installation.send(topic, poison(POISON));
    await caughtUp(installation);
    const all = await letters.find({}, { sort: { offset: 1 } }).toArray();
    expect(all.map(({ offset }) => offset)).toEqual(Array.from(all.keys()));
    expect(all).toHaveLength(POISON);
    const whole = all.filter(({ cut }) => cut !== true);
    expect(whole.length).toBeGreaterThan(20);
    const kept = whole.reduce((sum, { kept_bytes }) => sum + kept_bytes, 0);
    expect(kept).toBeLessThanOrEqual(BYTES);
    const bare = { cut: true, value: null, key: null, headers: [], kept_bytes: 0 };
    for (const letter of all.slice(whole.length))
      expect(letter).toMatchObject({ reason: 'malformed', value_bytes: TEXT.length, ...bare });
    await comesTo('dead_letters_open', POISON);
    await comesTo('dead_letters_bytes', kept);
    await comesTo('dead_letters_used_ratio', kept / BYTES);
    expect(await metric('dead_letters_total')).toBe(POISON);
    expect(await metric('dead_letters_oldest_seconds')).toBeGreaterThan(0);
  });

  it('is freed by the expiry of letters, which is logged with the positions of their messages', async () => {
    const daysAgo = (days: number) => [{ $set: { dead_at: new Date(Date.now() - days * DAY_MS) } }];
    await letters.updateMany({ offset: { $gte: 10 } }, daysAgo(31));
    await letters.updateMany({ offset: { $lt: 10 } }, daysAgo(29));
    await comesTo('dead_letters_expired_total', POISON - 10);
    // The space is free once the letters left are counted again, a moment later.
    await comesTo('dead_letters_open', 10);
    expect(await letters.countDocuments()).toBe(10);
    expect(logged.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      {
        msg: 'dead letters expired without a decision',
        topic,
        partition: 0,
        firstOffset: 10,
        lastOffset: POISON - 1,
        reason: 'malformed',
        letters: POISON - 10,
      },
    ]);
    expect(logged.join('')).not.toContain(TEXT);

    await installation.send(topic, poison(5));
    await caughtUp(installation);
    const whole = { offset: { $gte: POISON }, cut: { $exists: false } };
    expect(await letters.countDocuments(whole)).toBe(5);
  });

  it('is not needed by an event of a newer schema version that can be read, which is counted', async () => {
    await installation.publish([orderEvent('o1', { dataschema: '/schemas/order/v9' })]);
    await comesTo('events_newer_schema_total', 1);
    expect(await letters.countDocuments({ offset: { $gte: POISON + 5 } })).toBe(0);
  });
});
