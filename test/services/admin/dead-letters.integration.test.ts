import type { Collection } from 'mongodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { EventRejected, type RejectionReason } from '#shared/events/rejection.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import {
  COLLECTIONS,
  type DeadLetter,
  lettersIn,
  type OrderDocument,
  stampsIn,
} from '#shared/read-models/collections.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import {
  orderEvent,
  orderMessage,
  type TestEvent,
  kafkaMessage,
  storeAccessEvent,
} from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import { times } from '#test/times.ts';
import { runCommand, runJson } from './run-command.ts';

interface RetryAnswer {
  code: number | null;
  applied: number;
  outdated: number;
}

describe('dead-letters', () => {
  // The letters below are old.
  const installation = useInstallation({ partitions: 2, settings: { DEAD_LETTER_DAYS: '0' } });
  useProjector(installation);
  let letters: Collection<DeadLetter>;
  let orders: Collection<OrderDocument>;
  let topic = '';
  beforeAll(async () => {
    const db = await readModels(installation);
    letters = lettersIn(db);
    orders = db.collection<OrderDocument>(COLLECTIONS.order);
    topic = changesTopic(installation.environment);
  });
  beforeEach(async () => {
    await letters.deleteMany({});
  });

  const run = (words: string) => runCommand(installation.env, `dead-letters ${words}`);
  const retry = async (words: string): Promise<RetryAnswer> => {
    const { code, stdout } = await run(`retry ${words} --json`);
    return { ...(JSON.parse(stdout) as RetryAnswer), code };
  };
  const left = async () => (await letters.find().toArray()).map(({ _id }) => _id);

  /** A letter of an older projector. */
  function letter(
    event: TestEvent,
    offset: number,
    reason: RejectionReason = 'unknown_schema_version',
    of = topic,
  ): DeadLetter {
    const message = { ...kafkaMessage(event, offset), timestamp: '1700000000000' };
    const rejection = new EventRejected(reason, 'not known then');
    return {
      ...toDeadLetter(of, 0, message, rejection),
      dead_at: new Date('2026-01-01T00:00:00Z'),
    };
  }

  it('are listed with the projector’s reasons, and without data unless requested', async () => {
    const secret = 'Maria da Silva';
    const bad = orderMessage('bad', { data: { total: '1', customer: { id: 'c1', name: secret } } });
    await installation.send(topic, [
      { key: 's1', value: 'hello \u001B[2J' },
      { key: 's1', value: bad.value },
      { key: 's1', value: Buffer.alloc(1_200_000, 0x20) },
    ]);
    await caughtUp(installation);
    const listed = await run('list');
    expect(listed.stdout).toMatch(/ order bad +invalid_data: data/);
    expect(listed.stdout).not.toContain(secret);
    type Listed = { dead_letters: { id: string }[] };
    const { dead_letters } = await runJson<Listed>(installation.env, 'dead-letters list');
    expect(dead_letters).toMatchObject([
      { reason: 'malformed', entity: null, subject: null },
      { reason: 'invalid_data', entity: 'order', subject: 'bad' },
      { reason: 'too_large', entity: null, subject: null },
    ]);
    const [malformed = '', invalid = '', large = ''] = dead_letters.map(({ id }) => id);
    const shown = await run(`show ${invalid}`);
    expect(shown.stdout).toMatch(/ {4}name: text of 14\n/);
    expect(shown.stdout).not.toContain(secret);
    expect((await run(`show ${invalid} --json`)).stdout).not.toContain(secret);
    expect((await run(`show ${malformed} --raw`)).stdout).toBe('hello \u001B[2J');
    expect((await run(`show ${large} --raw`)).stdout).toHaveLength(1_200_000);
    expect(await retry(large)).toMatchObject({
      code: 1,
      applied: 0,
      stayed: [{ reason: 'too_large' }],
    });
  });

  it('are applied in order by a retry, or are outdated, or stay with the present reason', async () => {
    await installation.publish([orderEvent('known', { sequence: 5 })]);
    await caughtUp(installation);
    const poison = letter(orderEvent('poison', { data: { total: 'much' } }), 1_000_004);
    await letters.insertMany([
      poison,
      letter(orderEvent('new', { sequence: 2 }), 1_000_000),
      letter(orderEvent('known', { sequence: 4 }), 1_000_003),
      // Its id is not the first one, although its offset is.
      letter(orderEvent('new'), 999_999),
    ]);
    expect(await retry('--all')).toMatchObject({
      code: 1,
      applied: 2,
      outdated: 1,
      stayed: [{ id: poison._id, reason: 'invalid_data' }],
    });
    expect((await orders.findOne({ _id: 's1/new' }))?.sequence).toBe(2);
    expect((await orders.findOne({ _id: 's1/known' }))?.sequence).toBe(5);
    expect(await letters.find().toArray()).toEqual([
      { ...poison, reason: 'invalid_data', detail: expect.any(String) as string },
    ]);
  });

  it('can be retried by id or by reason', async () => {
    const one = letter(orderEvent('r1'), 2_000_001);
    const two = letter(orderEvent('r2'), 2_000_002);
    await letters.insertMany([one, two, letter(orderEvent('r3'), 2_000_003, 'unknown_type')]);
    const missing = `${topic}/0/77`;
    expect(await retry(`${one._id} ${missing}`)).toMatchObject({
      code: 1,
      applied: 1,
      missing: [missing],
    });
    expect(await retry('--reason unknown_type')).toMatchObject({ code: 0, applied: 1 });
    expect(await left()).toEqual([two._id]);
  });

  it('are retried once, even by two operators while a projector changes the same store', async () => {
    const stamped = async () =>
      (await stampsIn(await readModels(installation)).findOne({ _id: 's1' }))?.order ?? 0;
    await letters.insertMany(
      times(200, (index) => letter(orderEvent(`m${index}`), 3_000_000 + index)),
    );
    const before = await stamped();
    const [, first, second] = await Promise.all([
      installation.publish(times(1_000, (index) => orderEvent(`l${index}`))),
      retry('--all'),
      retry('--all'),
    ]);
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.applied + second.applied).toBe(200);
    expect([first.outdated, second.outdated]).toEqual([0, 0]);
    expect(await left()).toEqual([]);
    await eventually(
      'everything is counted once',
      async () => (await stamped()) === before + 1_200,
    );
  });

  it('of the access topic reach Redis after a retry', async () => {
    const { config, databases, environment, redis } = installation;
    const blocking = storeAccessEvent('s5', 1, 'blocked');
    const block = letter(blocking, 1, 'malformed', accessTopic(environment));
    await lettersIn(databases.control).insertOne(block);
    expect(await retry(block._id)).toMatchObject({ code: 0, applied: 1 });
    const { storeAccess } = redisKeys(config.namePrefix, environment, 's5');
    expect(await redis.zrange(storeAccess, 0, '-1')).toEqual(['blocked']);
  });

  it('are dropped without a terminal only with --yes', async () => {
    const one = letter(orderEvent('d1'), 1);
    const two = letter(orderEvent('d2'), 2);
    await letters.insertMany([one, two, letter(orderEvent('d3'), 3, 'unknown_type')]);
    expect((await run('drop --all')).code).toBe(2);
    expect(await left()).toHaveLength(3);
    expect(await run(`drop ${one._id} --yes`)).toMatchObject({ code: 0, stdout: 'dropped 1\n' });
    expect(await run(`drop ${one._id} --yes`)).toMatchObject({ code: 1, stdout: 'dropped 0\n' });
    expect((await run('drop --reason unknown_type --yes')).code).toBe(0);
    expect(await left()).toEqual([two._id]);
    expect((await run('drop --all --yes')).stdout).toBe('dropped 1\n');
    expect((await run('list')).stdout).toBe('no dead letters\n');
  });
});
