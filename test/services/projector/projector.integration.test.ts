import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { generationGroup } from '#shared/read-models/generation.ts';
import { registerCodecs } from '#test/codecs.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { endsOf, withAdmin } from '#test/topics.ts';

describe('projector', () => {
  const installation = useInstallation();
  useProjector(installation);

  const find = async (collection: string, _id: string) => {
    const db = await readModels(installation);
    return db.collection<{ _id: string; [field: string]: unknown }>(collection).findOne({ _id });
  };

  it('commits its offsets to the group, for tools that show lag', async () => {
    await installation.publish([orderEvent('lag')]);
    await caughtUp(installation);
    const { config, environment, kafka } = installation;
    const topic = changesTopic(environment);
    const groupId = generationGroup(config.namePrefix, environment, 1);
    const told = async () => {
      const [committed] = await withAdmin(kafka, (admin) =>
        admin.fetchOffsets({ groupId, topics: [topic] }),
      );
      return new Map(
        committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]),
      );
    };
    await expect.poll(told, { timeout: 120_000 }).toEqual(await endsOf(kafka, topic));
  });

  it('stores poison as dead letters with bytes and position, and applies later messages', async () => {
    const topic = changesTopic(installation.environment);
    const large = Buffer.alloc(3 * 1_048_576, 0x78);
    await installation.send(topic, [
      { key: 'poison', value: '{"specversion":"1.0","id":"tru' },
      { key: 'poison', value: null, headers: {} },
      { key: null, value: 'x' },
      { key: 'poison', value: large },
    ]);
    await installation.publish([orderEvent('behind', { storeId: 'poison' })]);
    await caughtUp(installation);
    const db = await readModels(installation);
    expect(await find('orders', 'poison/behind')).not.toBeNull();
    const letters = await db
      .collection('dead_letters')
      .find({ topic })
      .sort({ value_bytes: 1 })
      .toArray();
    expect(letters.map(({ reason, value_bytes }) => [reason, value_bytes])).toEqual([
      ['malformed', 0],
      ['malformed', 1],
      ['malformed', 30],
      ['too_large', large.length],
    ]);
    const [, , truncated, oversized] = letters;
    expect(truncated?.['_id']).toBe(
      `${topic}/${truncated?.['partition']}/${truncated?.['offset']}`,
    );
    expect(String(truncated?.['value'].buffer)).toBe('{"specversion":"1.0","id":"tru');
    expect(oversized?.['value'].length()).toBe(1_048_576);
  });

  it('applies messages of every compression codec', async () => {
    const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
    registerCodecs();
    const codecs = [ZSTD, None, LZ4, GZIP, Snappy, None, ZSTD];
    const producer = installation.kafka.producer();
    await producer.connect();
    for (const [index, compression] of codecs.entries()) {
      const data = { notes: 'sem cebola, por favor '.repeat(60) };
      const messages = [1, 2, 3].map((number) =>
        orderMessage(`${index}-${number}`, { storeId: 'packed', data }),
      );
      await producer.send({ topic: changesTopic(installation.environment), messages, compression });
    }
    await producer.disconnect();
    await caughtUp(installation);
    const stored = await idsIn(await readModels(installation), 'orders', { store_id: 'packed' });
    expect(stored).toHaveLength(3 * codecs.length);
  });
});
