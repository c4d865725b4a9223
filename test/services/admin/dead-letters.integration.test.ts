import { Binary, type Collection } from 'mongodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import type { ORDER_STATUSES } from '#shared/records/order.ts';
import { EventRejected, type RejectionReason } from '#shared/events/rejection.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import {
  COLLECTIONS,
  DEAD_LETTERS,
  type DeadLetter,
  type OrderDocument,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import { orderFacet } from '#shared/read-models/rank-tree/keys.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import {
  keyEvent,
  orderEvent,
  orderMessage,
  type TestEvent,
  kafkaMessage,
  storeAccessEvent,
} from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { readModels } from '#test/read-models.ts';
import { runCommand, runJson } from './run-command.ts';

interface RetryAnswer {
  applied: number;
  outdated: number;
  stayed: { id: string; reason: string; detail: string }[];
  gone: string[];
  missing: string[];
}

/** Reads with majority, like the commands, so that these see the same. */
const MAJORITY = { readConcern: { level: 'majority' } } as const;

describe('dead-letters', () => {
  // The letters below are old.
  const installation = useInstallation({ partitions: 2, settings: { DEAD_LETTER_DAYS: '0' } });
  useProjector(installation);
  let letters: Collection<DeadLetter>;
  let accessLetters: Collection<DeadLetter>;
  let topic = '';
  beforeAll(async () => {
    letters = (await readModels(installation)).collection(DEAD_LETTERS, MAJORITY);
    accessLetters = installation.databases.control.collection(DEAD_LETTERS, MAJORITY);
    topic = changesTopic(installation.environment);
  });
  beforeEach(async () => {
    await letters.deleteMany({});
    await accessLetters.deleteMany({});
  });

  const run = (...args: string[]) => runCommand(installation.env, ['dead-letters', ...args]);
  const retry = async (...args: string[]): Promise<RetryAnswer & { code: number | null }> => {
    const { code, stdout } = await run('retry', ...args, '--json');
    return { ...(JSON.parse(stdout) as RetryAnswer), code };
  };

  /** A letter of an older projector. */
  function letter(
    event: TestEvent,
    at: { topic?: string; partition?: number; offset: number; reason?: RejectionReason },
  ): DeadLetter {
    const message = { ...kafkaMessage(event, at.offset), timestamp: '1700000000000' };
    const rejection = new EventRejected(at.reason ?? 'unknown_schema_version', 'not known then');
    return {
      ...toDeadLetter(at.topic ?? topic, at.partition ?? 0, message, rejection),
      dead_at: new Date('2026-01-01T00:00:00Z'),
    };
  }

  const order = (id: string, sequence: number, data: object = {}) =>
    orderEvent(id, { sequence, data });
  const facetOf = (status: (typeof ORDER_STATUSES)[number]) =>
    orderFacet({ status, order_type: 'delivery', customer_id: null });
  const storedOrder = async (id: string) =>
    (await readModels(installation))
      .collection<OrderDocument>(COLLECTIONS.order)
      .findOne({ _id: `s1/${id}` });
  const stamp = async () =>
    (await readModels(installation)).collection<Stamp>(STAMPS).findOne({ _id: 's1' });

  it('are listed with the projector’s reasons, and without data unless requested', async () => {
    const secret = 'Maria da Silva';
    const bad = orderMessage('bad', { data: { total: '1', customer: { id: 'c1', name: secret } } });
    await installation.send(topic, [
      { key: 's1', value: 'hello \u001B[2J' },
      { key: 's1', value: bad.value },
      { key: 's1', value: Buffer.alloc(1_200_000, 0x20) },
    ]);
    await eventually('the letters are there', async () => (await letters.countDocuments()) === 3);
    const listed = await run('list');
    expect(listed.stdout).toMatch(/ order bad +invalid_data: data/);
    expect(listed.stdout).not.toContain(secret);
    const json = await runJson<{ dead_letters: object[] }>(installation.env, 'dead-letters list');
    expect(json.dead_letters).toMatchObject([
      { reason: 'malformed', entity: null, subject: null },
      { reason: 'invalid_data', entity: 'order', subject: 'bad' },
      { reason: 'too_large', entity: null, subject: null },
    ]);
    const [malformed, invalid, large] = await letters.find({}, { sort: { offset: 1 } }).toArray();
    const shown = await run('show', invalid?._id ?? '');
    expect(shown.stdout).toMatch(/ {4}name: text of 14\n/);
    expect(shown.stdout).not.toContain(secret);
    expect((await run('show', invalid?._id ?? '', '--json')).stdout).not.toContain(secret);
    expect((await run('show', malformed?._id ?? '', '--raw')).stdout).toBe('hello \u001B[2J');
    expect((await run('show', large?._id ?? '', '--raw')).stdout).toHaveLength(1_200_000);
    const retried = await retry(large?._id ?? '');
    expect(retried).toMatchObject({ code: 1, applied: 0, stayed: [{ reason: 'too_large' }] });
  });

  it('are applied in order by a retry, or are outdated, or stay with the present reason', async () => {
    await installation.publish([order('known', 5)]);
    await eventually('the order is applied', async () => (await storedOrder('known')) !== null);
    const before = await stamp();
    const newOrder = letter(order('new', 1), { offset: 1_000_001 });
    const newer = letter(order('new', 2, { status: 'confirmed' }), { offset: 1_000_002 });
    const outdated = letter(order('known', 4, { status: 'cancelled' }), { offset: 1_000_003 });
    const poison = letter(order('poison', 1, { total: 'much' }), { offset: 1_000_004 });
    await letters.insertMany([poison, newer, outdated, newOrder]);
    const answer = await retry('--all');
    expect(answer).toMatchObject({ code: 1, applied: 2, outdated: 1 });
    expect(answer.stayed).toMatchObject([{ id: poison._id, reason: 'invalid_data' }]);
    expect(await storedOrder('new')).toMatchObject({ sequence: 2, facet: facetOf('confirmed') });
    expect(await storedOrder('known')).toMatchObject({ sequence: 5, facet: facetOf('pending') });
    expect((await stamp())?.order).toBe((before?.order ?? 0) + 2);
    expect(await letters.find().toArray()).toEqual([
      { ...poison, reason: 'invalid_data', detail: expect.any(String) as string },
    ]);
  });

  it('can be retried by id or by reason', async () => {
    const one = letter(order('r1', 1), { offset: 2_000_001 });
    const two = letter(order('r2', 1), { offset: 2_000_002, partition: 1 });
    const three = letter(order('r3', 1), { offset: 2_000_003, reason: 'unknown_type' });
    await letters.insertMany([one, two, three]);
    const missing = `${topic}/0/77`;
    expect(await retry(one._id, missing)).toMatchObject({
      code: 1,
      applied: 1,
      missing: [missing],
    });
    expect(await retry('--reason', 'unknown_type')).toMatchObject({ code: 0, applied: 1 });
    expect((await letters.find().toArray()).map(({ _id }) => _id)).toEqual([two._id]);
    expect(await retry('--all', '-e', installation.environment)).toMatchObject({
      code: 0,
      applied: 1,
    });
    expect(await retry('--all')).toMatchObject({ code: 0, applied: 0 });
  });

  it('are retried once, even by two operators while a projector changes the same store', async () => {
    const many = Array.from({ length: 200 }, (_, index) =>
      letter(order(`m${index}`, 1), { offset: 3_000_000 + index }),
    );
    await letters.insertMany(many);
    const before = (await stamp())?.order ?? 0;
    const live = Array.from({ length: 1_000 }, (_, index) => order(`l${index}`, 1));
    const [, first, second] = await Promise.all([
      installation.publish(live),
      retry('--all'),
      retry('--all'),
    ]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.applied + second.applied).toBe(200);
    expect([first.outdated, second.outdated]).toEqual([0, 0]);
    expect(await letters.countDocuments()).toBe(0);
    await eventually(
      'everything is counted once',
      async () => (await stamp())?.order === before + 1_200,
    );
  });

  it('of the access topic reach Redis after a retry', async () => {
    const access = accessTopic(installation.environment);
    const key = letter(keyEvent('letter-key', 1, { scopes: ['menu'] }), {
      topic: access,
      offset: 4_000_001,
    });
    const block = letter(storeAccessEvent('s5', 1, 'blocked'), {
      topic: access,
      offset: 4_000_002,
    });
    await accessLetters.insertMany([key, block]);
    expect(await retry(key._id, block._id)).toMatchObject({ code: 0, applied: 2 });
    const keysOf = (storeId: string) =>
      redisKeys(installation.config.namePrefix, installation.environment, storeId);
    const inRedis = (key: string) => installation.redis.zrange(key, 0, '-1');
    expect(await inRedis(keysOf('s1').grant('letter-key'))).toEqual(['active menu']);
    expect(await inRedis(keysOf('s5').storeAccess)).toEqual(['blocked']);
    expect(
      await controlCollections(installation.databases.control).keys.countDocuments({
        publish_pending: true,
      }),
    ).toBe(0);
    expect(await accessLetters.countDocuments()).toBe(0);
  });

  it('are dropped without a terminal only with --yes', async () => {
    const [one, two, three] = [1, 2, 3].map((offset) =>
      letter(order(`d${offset}`, 1), {
        offset,
        reason: offset === 3 ? 'unknown_type' : 'malformed',
      }),
    );
    if (one === undefined || two === undefined || three === undefined)
      throw new Error('three were made');
    await letters.insertMany([one, two, three]);
    expect((await run('drop', '--all')).code).toBe(2);
    expect(await letters.countDocuments()).toBe(3);
    expect(await run('drop', one._id, '--yes')).toMatchObject({ code: 0, stdout: 'dropped 1\n' });
    expect(await run('drop', one._id, '--yes')).toMatchObject({ code: 1, stdout: 'dropped 0\n' });
    await runJson(installation.env, 'dead-letters drop --reason unknown_type --yes');
    expect((await letters.find().toArray()).map(({ _id }) => _id)).toEqual([two._id]);
    expect((await run('drop', '--all', '--yes')).stdout).toBe('dropped 1\n');
    expect((await run('list')).stdout).toBe('no dead letters\n');
  });

  it('can be shown with a binary key and headers', async () => {
    const odd = {
      ...letter(order('x', 1), { offset: 9 }),
      key: new Binary(Buffer.from([0xff, 0x1b])),
      headers: [{ name: 'ce_type', value: new Binary(Buffer.from([0xff])) }],
      value: null,
      value_bytes: 0,
    };
    await letters.insertOne(odd);
    expect((await run('show', odd._id)).code).toBe(0);
    expect((await run('show', odd._id, '--raw')).stdout).toBe('');
    expect(await retry(odd._id)).toMatchObject({
      code: 1,
      stayed: [{ reason: 'not_a_cloud_event' }],
    });
  });
});
