/**
 * No dead letter keeps a deleted customer's data, however little of its message can be understood.
 */
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { MINIMAL } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import type { RawMessage } from '#test/installation.ts';
import { applyAll } from '#test/projectors.ts';
import { readModels } from '#test/read-models.ts';

const NAME = 'Maria da Silva';
const PERSON = { name: NAME, phone: '+55 11 90000-0000' };

const structured = {
  specversion: '1.0',
  source: '/pos',
  time: '2026-01-01T00:00:00Z',
  datacontenttype: 'application/json',
};
const event = (entity: string, data: unknown, more: object = {}) =>
  JSON.stringify({
    ...structured,
    id: 'e1',
    type: `store-data.${entity}.changed`,
    storeid: 's1',
    subject: 'x1',
    sequence: '1',
    data,
    ...more,
  });

/** Poison that holds the data of customer 123: `customersIn` reads every other shape likewise. */
const SHAPES: Record<string, string | Buffer> = {
  'an order': event('order', { total: 'x', customer: { id: '123', ...PERSON } }),
  'an order without the id': event('order', { customer: PERSON }),
  'a customer whose subject is a number': event('customer', PERSON, { subject: 123 }),
  'no JSON': `123;${NAME}`,
  'more than a mebibyte': event('order', {
    customer: { id: '123', ...PERSON },
    notes: 'x'.repeat(1_100_000),
  }),
  'more than is parsed': event('order', {
    customer: { id: '123', ...PERSON },
    notes: 'x'.repeat(4_300_000),
  }),
};
const messages = (key: string | null = 's1'): RawMessage[] =>
  Object.values(SHAPES).map((value) => ({ key, value, partition: 0, headers: { note: NAME } }));
const COUNT = Object.keys(SHAPES).length;

describe.each([
  ['of its store', 's1'],
  ['of no store', null],
] as const)('dead letters %s', (_what, key) => {
  const installation = useInstallation({ partitions: 1 });
  const topic = () => changesTopic(installation.environment);
  const send = (...given: RawMessage[]) => installation.send(topic(), given);
  const letters = async () =>
    (await readModels(installation))
      .collection<DeadLetter>(DEAD_LETTERS)
      .find({}, { sort: { offset: 1 } })
      .toArray();
  const holding = async () =>
    (await letters()).filter((letter) => Buffer.from(BSON.serialize(letter)).includes(NAME)).length;
  const change = (subject: string, sequence: number, data: object | null) =>
    installation.publish([
      {
        entity: 'customer',
        storeId: 's1',
        subject,
        sequence,
        ...(data === null ? { action: 'deleted' as const } : { data }),
      },
    ]);
  const others: RawMessage[] = [
    { key: 's2', value: 'no JSON of another store', partition: 0 },
    {
      key: 's1',
      value: event('order', { total: 'x', customer: { id: '124', name: 'Ana' } }),
      partition: 0,
    },
    { key: 's1', value: event('product', { name: 7 }), partition: 0 },
  ];

  it('keep their bytes until the customer is deleted, and then place, size, digest and reason alone', async () => {
    await change('123', 1, { ...MINIMAL.customer, name: NAME });
    await send(...messages(key), ...others);
    await applyAll(installation);
    const before = await letters();
    expect(before).toHaveLength(COUNT + others.length);
    for (const { value, digest } of before)
      expect([value?.length() ?? 0, digest]).toEqual([
        expect.any(Number),
        expect.stringMatching(/^[\w-]{22}$/),
      ]);
    expect(await holding()).toBe(COUNT);

    await change('123', 2, null);
    await applyAll(installation);
    expect(await holding()).toBe(0);
    const after = await letters();
    expect(after).toHaveLength(COUNT + others.length);
    for (const [at, letter] of after.slice(0, COUNT).entries()) {
      const { value_bytes, digest, reason } = before[at] as DeadLetter;
      expect(letter).toMatchObject({
        value_bytes,
        digest,
        reason,
        value: null,
        key: null,
        headers: [],
        cut: true,
      });
      expect(letter.customers).toBeUndefined();
    }
    expect(after.slice(COUNT).map(({ value }) => value !== null)).toEqual([true, true, true]);
  });

  it('keep none of what comes later', async () => {
    await send(...messages(key), ...others);
    await applyAll(installation);
    expect(await holding()).toBe(0);
    expect((await letters()).slice(-others.length).map(({ value }) => value !== null)).toEqual([
      true,
      true,
      true,
    ]);
  });
});

describe('DEAD_LETTER_PAYLOADS=tied', () => {
  const installation = useInstallation({
    partitions: 1,
    settings: { DEAD_LETTER_PAYLOADS: 'tied' },
  });

  it('keeps nothing of messages whose customers are not certain', async () => {
    await installation.send(changesTopic(installation.environment), messages());
    await applyAll(installation);
    const found = await (
      await readModels(installation)
    )
      .collection<DeadLetter>(DEAD_LETTERS)
      .find({}, { sort: { offset: 1 } })
      .toArray();
    const kept = Object.keys(SHAPES).filter((_name, at) => found[at]?.value !== null);
    expect(kept).toEqual([
      'an order',
      'a customer whose subject is a number',
      'more than a mebibyte',
    ]);
  });
});
