import { Writable } from 'node:stream';
import kafkajs from 'kafkajs';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { readModels } from '#test/read-models.ts';
import { runCommand, runJson } from '../admin/run-command.ts';

const MIB = 1_048_576;
/** One message that takes some kilobytes packed. */
const BOMB = Buffer.alloc(80 * MIB);

const order = (storeId: string, subject: string) =>
  encodeEvent({
    entity: 'order',
    storeId,
    subject,
    sequence: 1,
    data: {
      status: 'pending',
      order_type: 'delivery',
      total: '1.00',
      created_at: '2026-03-01T12:00:00Z',
    },
    source: '/test',
  });

describe('a record batch that unpacks to more than is allowed', () => {
  let installation: Installation;
  let projector: RunningProjector;
  let topic: string;
  const lines: Record<string, unknown>[] = [];
  beforeAll(async () => {
    installation = await createInstallation({ partitions: 2 });
    topic = changesTopic(installation.environment);
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(JSON.parse(chunk.toString('utf8')) as Record<string, unknown>);
        done();
      },
    });
    projector = await startProjector(installation.config, pino({ level: 'warn' }, sink));
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });

  const send = (to: string, partition: number, subjects: string[]) =>
    installation.send(
      to,
      subjects.map((subject) => ({ ...order(`s${partition}`, subject), partition })),
    );
  const sendBomb = async (to: string, partition: number) => {
    const producer = installation.kafka.producer();
    await producer.connect();
    await producer.send({
      topic: to,
      messages: [
        { key: 's0', value: BOMB, partition },
        { key: 's0', value: 'x', partition },
      ],
      compression: kafkajs.CompressionTypes.ZSTD,
    });
    await producer.disconnect();
  };
  const orders = async () => {
    const db = await readModels(installation);
    return (await db.collection('orders').find().toArray()).map(({ _id }) => String(_id)).toSorted();
  };
  const metric = async (name: string) => {
    const found = await projector.metrics.registry.getSingleMetric(name)?.get();
    return found?.values.filter(({ value }) => value === 1).map(({ labels }) => labels);
  };
  const skip = (...args: string[]) => runCommand(installation.env, ['dead-letters', 'skip', ...args]);
  const at = (partition: number, offset: number, where = topic) => [
    '--topic',
    where,
    '--partition',
    String(partition),
    '--offset',
    String(offset),
    '--yes',
  ];

  it('stops its partition alone, behind what comes before it', async () => {
    await send(topic, 0, ['before-1', 'before-2']);
    await sendBomb(topic, 0);
    await send(topic, 0, ['behind']);
    await send(topic, 1, ['beside']);
    await eventually('the partition stops', async () =>
      Boolean((await metric('store_data_partition_unreadable'))?.length),
    );
    expect(await metric('store_data_partition_unreadable')).toEqual([
      { topic, partition: 0, generation: 'g1', reason: 'unpacks_too_large' },
    ]);
    expect(await metric('store_data_partition_stopped')).toEqual([{ topic, partition: 0, generation: 'g1' }]);
    await send(topic, 1, ['later']);
    await eventually('the other partition goes on', async () => (await orders()).includes('s1/later'));
    expect(await orders()).toEqual(['s0/before-1', 's0/before-2', 's1/beside', 's1/later']);
    expect(lines.find(({ level }) => level === 60)).toMatchObject({
      topic,
      partition: 0,
      offset: 2,
      reason: 'unpacks_too_large',
      msg: `partition stopped: the record batch of the offsets 2 to 3 cannot be read; "store-data dead-letters skip --topic ${topic} --partition 0 --offset 2" goes on behind it`,
    });
    expect(projector.isLive()).toBe(true);
  });

  it('leaves access as it is', async () => {
    await installation.publishAccess([
      {
        entity: 'access_key',
        storeId: 's0',
        subject: 'client',
        sequence: 1,
        data: { secret_sha256: 'a'.repeat(64), scopes: ['order'], status: 'active' },
      },
    ]);
    const keys = installation.mongodb
      .db(`${installation.config.namePrefix}_control`)
      .collection<{ _id: string }>('access_keys');
    await eventually('the key is there', async () => (await keys.countDocuments()) === 1);
  });

  it('is passed by when an operator says so, and nothing else is', async () => {
    expect(await skip(...at(0, 1))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('can be read'),
    });
    expect(await skip(...at(0, 5))).toMatchObject({ code: 1, stderr: expect.stringContaining('holds') });
    expect(await skip(...at(0, 2).slice(0, -1))).toMatchObject({ code: 2 });
    expect(await skip(...at(0, 2, 'orders'))).toMatchObject({ code: 2 });
    expect(await skip(...at(0, 2), '--to', '4')).toMatchObject({ code: 1 });
    expect(await orders()).not.toContain('s0/behind');

    expect(await skip(...at(0, 2))).toMatchObject({
      code: 0,
      stdout: `${topic}/0 goes on at 4; the dead letter is ${topic}/0/2\n`,
    });
    await eventually('what is behind it is applied', async () => (await orders()).includes('s0/behind'));
    expect(await metric('store_data_partition_unreadable')).toEqual([]);
    expect(await metric('store_data_partition_stopped')).toEqual([]);

    const audit = await runJson<object[]>(installation.env, ['audit', '--action', 'dead-letters.skip']);
    expect(audit).toMatchObject([
      {
        environment: installation.environment,
        outcome: 'done',
        result: { topic, partition: 0, from: 2, to: 3, reason: 'unpacks_too_large' },
      },
    ]);
  });

  it('is a dead letter that stands for its offsets', async () => {
    const list = () =>
      runJson<{ total: number; dead_letters: object[] }>(installation.env, ['dead-letters', 'list']);
    const letter = {
      id: `${topic}/0/2`,
      reason: 'unreadable',
      detail: expect.stringContaining('unpacks to more than'),
      gathered: { count: 2, last_offset: 3 },
    };
    expect(await list()).toMatchObject({ total: 2, dead_letters: [letter] });
    const retried = await runCommand(installation.env, ['dead-letters', 'retry', `${topic}/0/2`]);
    expect(retried).toMatchObject({ code: 1, stdout: 'applied 0, outdated 0, still dead 1\n' });
    expect(await list()).toMatchObject({ total: 2, dead_letters: [letter] });
  });

  it('is passed by in a generation that is filled later, and by who verifies', async () => {
    const { environment, env } = installation;
    const rebuilt = await runCommand(env, ['rebuild', '--environment', environment]);
    expect(rebuilt).toMatchObject({ code: 0 });
    expect(await orders()).toContain('s0/behind');
    const verified = await runCommand(env, ['verify', '--deep', '--environment', environment]);
    expect(verified).toMatchObject({ code: 0 });
  });

  it('on the access topic stops that alone', async () => {
    const access = accessTopic(installation.environment);
    await sendBomb(access, 1);
    await eventually('its partition stops', async () =>
      Boolean(
        (await metric('store_data_partition_unreadable'))?.some((labels) => labels['topic'] === access),
      ),
    );
    await send(topic, 0, ['last']);
    await eventually('changes are applied', async () => (await orders()).includes('s0/last'));
    expect(await skip(...at(1, 0, access))).toMatchObject({ code: 0 });
    await eventually(
      'it goes on',
      async () => (await metric('store_data_partition_unreadable'))?.length === 0,
    );
  });
});
