import { createRequire } from 'node:module';
import zlib from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
// Replaces kafkajs's decoder.
import '#shared/kafka/client.ts';
import { fetchWaitMs, setFetchMaxWait, withRoomForLastBatches } from '#shared/kafka/fetch.ts';
import { encodeBatch } from '#test/record-batches.ts';

const VERSION = 11;
const TOPIC = 'changes';

const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number) => Buffer.concat([int16(value >>> 16), int16(value & 65_535)]);
const int64 = (value: number) => Buffer.concat([int32(0), int32(value)]);

interface Protocol {
  response: { decode: (raw: Buffer) => Promise<object> };
}

const { protocol } = createRequire(import.meta.url)('kafkajs/src/protocol/requests/fetch') as {
  protocol: (options: { version: number }) => (request: object) => Protocol;
};

interface Answer {
  responses: { partitions: { messages: object[] }[] }[];
}

interface Fetched {
  set: Buffer;
  highWatermark?: number;
  lastStableOffset?: number;
}

/** A broker's answer for some partitions, requested from offset 0. */
function answerAbout(fetched: readonly Fetched[]): Promise<object> {
  const partitions = fetched.flatMap(({ set, highWatermark = 10, lastStableOffset = highWatermark }, index) => [
    int32(index),
    int16(0),
    int64(highWatermark),
    int64(lastStableOffset),
    int64(0),
    int32(0),
    int32(-1 >>> 0),
    int32(set.length),
    set,
  ]);
  const topic = [int16(TOPIC.length), Buffer.from(TOPIC), int32(fetched.length), ...partitions];
  const raw = Buffer.concat([int32(0), int16(0), int32(0), int32(1), ...topic]);
  const asked = fetched.map((_, partition) => ({ partition, fetchOffset: '0', maxBytes: 1_000 }));
  const request = { maxWaitTime: 0, topics: [{ topic: TOPIC, partitions: asked }] };
  return protocol({ version: VERSION })(request).response.decode(raw);
}

describe('a fetch answer', () => {
  const values = ['a', 'b', 'c'].map((text) => Buffer.from(text));

  it('may contain batches beyond its high watermark', async () => {
    expect(await answerAbout([{ set: encodeBatch({ values }), highWatermark: 1 }])).toMatchObject({
      responses: [{ partitions: [{ highWatermark: '1', messages: values.map((value) => ({ value })) }] }],
    });
  });

  it('ends with the last stable offset: what an open transaction hides is no lag', async () => {
    const set = encodeBatch({ values });
    expect(await answerAbout([{ set, highWatermark: 2_000, lastStableOffset: 3 }])).toMatchObject({
      responses: [{ partitions: [{ highWatermark: '3' }] }],
    });
  });

  it('serves every partition in turn, although one uses up the budget each time', async () => {
    const codec = { number: 4, pack: () => zlib.zstdCompressSync(Buffer.alloc(65 * 1_048_576)) };
    const bombs = [0, 1, 2].map((baseOffset) => encodeBatch({ baseOffset, values: values.slice(0, 1), codec }));
    const calm = encodeBatch({ values: values.slice(0, 1) });
    const [read, left] = [new Set<number>(), new Set<number>()];
    for (let answers = 0; read.size < 3 || left.size === 0; answers += 1) {
      expect(answers).toBeLessThan(50);
      const fetched = [{ set: calm }, { set: Buffer.concat(bombs) }, { set: calm }];
      const { responses } = (await answerAbout(fetched)) as Answer;
      const messages = responses.flatMap(({ partitions }) => partitions.map((one) => one.messages.length));
      // The third bomb comes with a later fetch.
      expect(messages).toEqual([expect.toBeOneOf([0, 1]), 2, expect.toBeOneOf([0, 1])]);
      for (const [partition, count] of messages.entries()) (count > 0 ? read : left).add(partition);
    }
  });
});

describe('a fetch that begins inside of the last read batch', () => {
  const bytesAt = (fetchOffset: number) => {
    const partitions = [{ partition: 0, fetchOffset: String(fetchOffset), maxBytes: 1_000 }];
    return withRoomForLastBatches([{ topic: TOPIC, partitions }])[0]?.partitions[0]?.maxBytes;
  };
  const values = ['a', 'b', 'c'].map((text) => Buffer.from(text));
  const last = encodeBatch({ baseOffset: 3, values });

  it('is large enough for that batch and new ones', async () => {
    await answerAbout([{ set: Buffer.concat([encodeBatch({ values }), last]), highWatermark: 6 }]);
    const withRoom = 1_000 + last.length;
    expect([2, 3, 5, 6].map(bytesAt)).toEqual([1_000, withRoom, withRoom, 1_000]);
  });

  it('adds at most a megabyte for it', async () => {
    const large = encodeBatch({ baseOffset: 3, values: [Buffer.alloc(900_000), Buffer.alloc(900_000)] });
    await answerAbout([{ set: large, highWatermark: 6 }]);
    expect(bytesAt(4)).toBe(1_000 + 1_048_576);
  });
});

it('the maximum wait of a fetch is the lowest limit of its running consumers', () => {
  let isIdle = true;
  const [waiting, other] = [[{ topic: 'fetch-wait' }], [{ topic: 'another' }]];
  const wait = () => fetchWaitMs(waiting, 200);
  expect(wait()).toBe(200);
  onTestFinished(setFetchMaxWait('fetch-wait', () => 1_000));
  const end = setFetchMaxWait('fetch-wait', () => (isIdle ? 800 : 0));
  expect([wait(), fetchWaitMs(other, 200)]).toEqual([800, 200]);
  isIdle = false;
  expect(wait()).toBe(200);
  end();
  expect(wait()).toBe(1_000);
});
