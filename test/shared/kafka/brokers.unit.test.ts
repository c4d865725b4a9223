/** Answers to Fetch, as brokers send them. */
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { connectBrokers } from '#shared/kafka/brokers.ts';
import type { Cluster, Request } from '#shared/kafka/cluster.ts';
import { encodeBatch } from '#test/record-batches.ts';
import { times } from '#test/times.ts';

const TOPIC = 'changes';

const int16 = (value: number) => Buffer.from(Int16Array.of(value).buffer).swap16();
const int32 = (value: number) => Buffer.from(Int32Array.of(value).buffer).swap32();
const int64 = (value: number) => Buffer.concat([int32(0), int32(value)]);

interface Fetched {
  set?: Buffer;
  errorCode?: number;
  highWatermark?: number;
  lastStableOffset?: number;
}

/** What a broker's answer says of some partitions, all asked for from offset 0. */
async function fetchAnswer(fetched: readonly Fetched[], throttleMs = 0) {
  const partitions = fetched.flatMap(
    (
      {
        set = Buffer.alloc(0),
        errorCode = 0,
        highWatermark = 10,
        lastStableOffset = highWatermark,
      },
      index,
    ) => [
      int32(index),
      int16(errorCode),
      int64(highWatermark),
      int64(lastStableOffset),
      int64(0),
      int32(0),
      int32(-1),
      int32(set.length),
      set,
    ],
  );
  const topic = [int16(TOPIC.length), Buffer.from(TOPIC), int32(fetched.length), ...partitions];
  const raw = Buffer.concat([int32(throttleMs), int16(0), int32(0), int32(1), ...topic]);
  const connection = {
    send: async <T>({ response }: Request<T>) => response.parse(await response.decode(raw)),
  };
  const pool = { getConnection: async () => connection };
  const cluster = {
    connect: async () => undefined,
    addTargetTopic: async () => undefined,
    refreshMetadata: async () => undefined,
    findTopicPartitionMetadata: () => fetched.map((_, partitionId) => ({ partitionId, leader: 1 })),
    findBroker: async () => ({ connectionPool: pool }),
  } as unknown as Cluster;
  const brokers = await connectBrokers(cluster, TOPIC);
  const asked = fetched.map((_, partition) => ({ partition, from: 0, bytes: 1_000 }));
  return brokers.fetch(1, { lane: 0, maxWaitMs: 0, partitions: asked });
}

async function readAll(fetched: readonly Fetched[]) {
  const { partitions } = await fetchAnswer(fetched);
  const read = [];
  for (const one of partitions) read.push(await one.read());
  return read;
}

describe('a fetch answer', () => {
  const values = ['a', 'b', 'c'].map((text) => Buffer.from(text));

  it('may contain batches beyond its high watermark, and ends with the last stable offset: what an open transaction hides is no lag', async () => {
    const set = encodeBatch({ values });
    const hidden = { set, highWatermark: 2_000, lastStableOffset: 3 };
    expect(await readAll([{ set, highWatermark: 1 }, hidden])).toMatchObject([
      { next: 3, messages: values.map((value) => ({ value })) },
      { end: 3 },
    ]);
  });

  it('says of each partition alone that it has moved, ends elsewhere, is corrupt or refused', async () => {
    const { partitions, throttleMs } = await fetchAnswer(
      [
        { errorCode: 6 },
        { errorCode: 1 },
        { errorCode: 2 },
        { errorCode: 29 },
        { set: encodeBatch({ values }) },
      ],
      50,
    );
    const read = await Promise.allSettled(partitions.map((one) => one.read()));
    expect(throttleMs).toBe(50);
    expect(read).toMatchObject([
      { value: 'moved' },
      { value: { isOutside: true } },
      { value: { messages: [{ unreadable: { reason: 'corrupt', to: null } }] } },
      { reason: { type: 'TOPIC_AUTHORIZATION_FAILED' } },
      { value: { next: 3 } },
    ]);
  });

  it('serves one partition after the other until one uses up the budget', async () => {
    const codec = { number: 4, pack: () => zlib.zstdCompressSync(Buffer.alloc(65 * 1_048_576)) };
    const bombs = times(3, (baseOffset) => encodeBatch({ baseOffset, records: [{}], codec }));
    const calm = encodeBatch({ records: [{}] });
    const read = await readAll([{ set: calm }, { set: Buffer.concat(bombs) }, { set: calm }]);
    // The third bomb comes with a later fetch, and so does the last partition.
    expect(read.map((one) => typeof one !== 'string' && one.messages.length)).toEqual([1, 2, 0]);
  });
});
