import type { Collection } from 'mongodb';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS, DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { MINIMAL } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';

const BYTES = 2_000;
const POISON = 100;
const DAY_MS = 86_400_000;

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

  const metric = async (name: string, labels: Record<string, string> = {}) => {
    const found = (await projector.metrics.registry.getMetricsAsJSON()).find(
      (entry) => entry.name === name,
    );
    const values = (found?.values ?? []).filter(({ labels: own }) =>
      Object.entries(labels).every(([label, value]) => own[label] === value),
    );
    return values.reduce((sum, { value }) => sum + value, 0);
  };
  const poison = (count: number, text: string) =>
    Array.from({ length: count }, (_, index) => ({ key: 's1', value: `${text} ${index}` }));
  const campaign = (subject: string, over: object) => ({
    entity: 'campaign',
    storeId: 's1',
    subject,
    sequence: 1,
    dataschema: '/schemas/campaign/v3',
    data: { ...MINIMAL.campaign, ...over },
  });

  it('keeps messages up to its bytes, then only positions and reasons', async () => {
    await installation.send(topic, poison(POISON, 'no event, and forty characters of it at least'));
    await caughtUp(installation);
    const all = await letters.find({}, { sort: { offset: 1 } }).toArray();
    expect(all.map(({ offset }) => offset)).toEqual(
      Array.from({ length: POISON }, (_, index) => index),
    );
    const whole = all.filter(({ cut }) => cut !== true);
    expect(whole.length).toBeGreaterThan(20);
    const kept = whole.reduce((sum, { kept_bytes }) => sum + kept_bytes, 0);
    expect(kept).toBeLessThanOrEqual(BYTES);
    const bare = { cut: true, value: null, key: null, headers: [], kept_bytes: 0 };
    for (const letter of all.slice(whole.length)) {
      expect(letter).toMatchObject({ reason: 'malformed', ...bare });
      expect(letter.value_bytes).toBeGreaterThan(40);
    }
    expect(await metric('store_data_dead_letters_total', { reason: 'malformed' })).toBe(POISON);
  });

  it('is shown by metrics', async () => {
    const labels = { topic, database: letters.dbName };
    await eventually(
      'the letters are counted',
      async () => (await metric('store_data_dead_letters_open', labels)) === POISON,
    );
    expect(await metric('store_data_dead_letters_used_ratio', labels)).toBeGreaterThan(0.9);
    expect(await metric('store_data_dead_letters_bytes', labels)).toBeLessThanOrEqual(BYTES);
    expect(await metric('store_data_dead_letters_oldest_seconds', labels)).toBeGreaterThan(0);
  });

  it('is freed by the expiry of letters, which is logged with the positions of their messages', async () => {
    const daysAgo = (days: number) => [{ $set: { dead_at: new Date(Date.now() - days * DAY_MS) } }];
    await letters.updateMany({ offset: { $gte: 10 } }, daysAgo(31));
    await letters.updateMany({ offset: { $lt: 10 } }, daysAgo(29));
    await eventually('the old ones are gone', async () => (await letters.countDocuments()) === 10);
    await eventually(
      'they are counted',
      async () => (await metric('store_data_dead_letters_expired_total')) === POISON - 10,
    );
    // The space is free once the letters left are counted again, a moment later.
    await eventually(
      'the others are counted',
      async () =>
        (await metric('store_data_dead_letters_open', { topic, database: letters.dbName })) === 10,
    );
    const words = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const where = { topic, partition: 0, firstOffset: 10, lastOffset: POISON - 1 };
    expect(words.filter(({ msg }) => String(msg).startsWith('dead letters expired'))).toMatchObject(
      [{ ...where, reason: 'malformed', letters: POISON - 10 }],
    );
    expect(logged.join('')).not.toContain('forty characters');

    await installation.send(topic, poison(5, 'another'));
    await caughtUp(installation);
    expect(
      await letters.countDocuments({ offset: { $gte: POISON }, cut: { $exists: false } }),
    ).toBe(5);
  });

  it('is used by an event of a newer schema version only if that cannot be read', async () => {
    await installation.publish([
      campaign('m1', { audience: 'de amanhã', colour: 'verde' }),
      campaign('m2', { name: null, title: 'Páscoa' }),
    ]);
    await caughtUp(installation);
    expect(await idsIn(await readModels(installation), COLLECTIONS.campaign)).toEqual(['s1/m1']);
    expect(await letters.findOne({ reason: 'unknown_schema_version' })).toMatchObject({
      detail: expect.stringMatching(
        /^dataschema is version 3 and cannot be read as 1.*name/,
      ) as string,
    });
    // The count changes a moment after the commit.
    await eventually(
      'it is counted',
      async () =>
        (await metric('store_data_events_newer_schema_total', { entity: 'campaign' })) === 1,
    );
  });
});
