import kafkajs, { type Message } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningProjector } from '#projector/projector.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { orderMessage } from '#test/events.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { runCommand, runJson } from '../admin/run-command.ts';

const { CompressionTypes } = kafkajs;
type CompressionCodec = (typeof CODECS)[keyof typeof CODECS];
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

describe('compressed messages', () => {
  let installation: Installation;
  let projector: RunningProjector;
  beforeAll(async () => {
    installation = await createInstallation();
    projector = await startSilentProjector(installation);
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });

  /** Sends messages as one batch. The broker itself unpacks it, and refuses what it cannot. */
  const sendBatch = async (topic: string, messages: Message[], compression: CompressionCodec) => {
    const producer = installation.kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages, compression });
    await producer.disconnect();
  };
  /** Sends orders of a store, a batch for each codec. */
  const send = async (storeId: string, ...names: (keyof typeof CODECS)[]) => {
    for (const name of names) {
      const messages = [1, 2, 3].map((number) => {
        const notes = 'sem cebola, por favor '.repeat(60 * number);
        return orderMessage(`${name}-${number}`, { storeId, data: { notes } });
      });
      await sendBatch(changesTopic(installation.environment), messages, CODECS[name]);
    }
  };
  const orders = async (storeId: string) => idsIn(await readModels(installation), 'orders', { store_id: storeId });
  const sent = (storeId: string, ...names: string[]) =>
    names.flatMap((name) => [1, 2, 3].map((number) => `${storeId}/${name}-${number}`)).toSorted();

  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('of %s are applied', async (name) => {
    await send(name, name);
    await caughtUp(installation);
    expect(await orders(name)).toEqual(sent(name, name));
  });

  it('of all kinds are applied from one partition', async () => {
    const names = ['zstd', 'none', 'lz4', 'gzip', 'snappy', 'none', 'zstd'] as const;
    await send('mixed', ...names);
    await caughtUp(installation);
    expect(await orders('mixed')).toEqual(sent('mixed', ...new Set(names)));
  });

  it('are applied each once where a batch holds more of them than are read at a time', async () => {
    const count = 10_500;
    const coupon = (subject: string) => {
      const data = { code: 'A', discount_type: 'fixed', discount_value: '1.00', active: true };
      const state = { ...data, created_at: '2026-03-01T12:00:00Z' };
      const event = { entity: 'coupon' as const, storeId: 'many', subject, sequence: 1, data: state };
      return { ...encodeEvent({ ...event, source: '/test' }), partition: 0 };
    };
    const coupons = Array.from({ length: count }, (_, index) => coupon(`c${index}`));
    await sendBatch(changesTopic(installation.environment), coupons, CODECS.zstd);
    await caughtUp(installation);
    const db = await readModels(installation);
    expect(await db.collection('coupons').countDocuments({ store_id: 'many' })).toBe(count);
    // Moves once for each event that takes effect.
    expect(await db.collection<Stamp>(STAMPS).findOne({ _id: 'many' })).toMatchObject({ coupon: count });
  });

  it('of access are applied, and dead letters are read from Kafka by the command line', async () => {
    const poison = { key: 's1', value: `{"no":"event","text":"${'x'.repeat(2_000_000)}"}`, partition: 0 };
    await sendBatch(accessTopic(installation.environment), [poison], CODECS.zstd);
    type Listed = { dead_letters: { id: string; reason: string }[] };
    const list = async () => (await runJson<Listed>(installation.env, 'dead-letters list')).dead_letters;
    await eventually('the letter is there', async () => (await list()).length > 0);
    const [letter] = await list();
    expect(letter?.reason).toBe('too_large');
    const raw = await runCommand(installation.env, ['dead-letters', 'show', '--raw', letter?.id ?? '']);
    expect(raw).toEqual({ code: 0, stdout: poison.value, stderr: '' });
  });
});
