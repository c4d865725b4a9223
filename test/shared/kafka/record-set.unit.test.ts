import { readFileSync } from 'node:fs';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { compressSync } from 'snappy';
import { describe, expect, it } from 'vitest';
import { valueBytesOf } from '#shared/kafka/message.ts';
import { createUnpacking, DecodingBudget } from '#shared/kafka/unpacking.ts';
import { decodeRecordSet, type Fetched } from '#shared/kafka/record-set.ts';
import { pack } from '#test/codecs.ts';
import { times } from '#test/times.ts';
import {
  type BatchToEncode,
  encodeBatch,
  encodeMarker,
  inTransaction,
  type RecordToEncode,
} from '#test/record-batches.ts';

/** Batches of the Java client of Kafka 4.3 from a fetch, three messages for each codec. */
const javaBatches = JSON.parse(
  readFileSync(new URL('./java-batches.json', import.meta.url), 'utf8'),
) as Record<string, string>;

const CODECS = { gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const MIB = 1_048_576;

const UNBOUNDED = { bytes: Infinity, milliseconds: Infinity };

const fetched = (options: Partial<Fetched> = {}): Fetched => ({
  fetchOffset: 0,
  abortedTransactions: [],
  mostBytes: Infinity,
  ...options,
});
const texts = (...words: string[]) => words.map((word) => Buffer.from(word));
const read = (set: Buffer, options: Partial<Fetched> = {}) => {
  const decoding = { unpacking: createUnpacking(), budget: new DecodingBudget(UNBOUNDED) };
  return decodeRecordSet(set, fetched(options), decoding);
};
const decode = async (set: Buffer, options: Partial<Fetched> = {}) =>
  (await read(set, options)).messages;
/** The values of messages; for placeholders the offsets of the batch and the reason. */
const seen = async (set: Buffer, options: Partial<Fetched> = {}) =>
  (await decode(set, options)).map((message) => {
    const batch = message.unreadable;
    return batch === undefined
      ? `${message.offset} ${message.value?.toString('utf8')}`
      : [batch.from, batch.to, batch.reason];
  });

const first = encodeBatch({ baseOffset: 0, values: texts('a', 'b') });
const last = encodeBatch({ baseOffset: 5, values: texts('f') });
const withByte = (batch: Buffer, at: number, byte: number) => {
  const changed = Buffer.from(batch);
  changed[at] = byte;
  return changed;
};
const bad = (set: Buffer, options?: Partial<Fetched>) =>
  seen(Buffer.concat([first, set, last]), options);
const whole = encodeBatch({ baseOffset: 2, values: texts('c', 'd', 'e') });

const unchanged = (bytes: Buffer) => bytes;
const packedText = (codec: number) => pack(codec, Buffer.alloc(100_000, 'text')).subarray(0, -10);
/** Unreadable batches with a valid checksum. */
const UNREADABLE: [what: string, batch: BatchToEncode, reason: string][] = [
  ['of an unknown codec', { codec: { number: 6, pack: unchanged } }, 'unknown_codec'],
  ...Object.entries(CODECS).flatMap(([name, number]) =>
    [Buffer.from('nothing of the kind'), Buffer.alloc(0), packedText(number)].map(
      (packed): (typeof UNREADABLE)[number] => [
        `that ${name} cannot unpack: ${packed.length} bytes`,
        { codec: { number, pack: unchanged }, packed },
        'malformed',
      ],
    ),
  ),
  ...[-1, 0, 2, 4].map((count): (typeof UNREADABLE)[number] => [
    `that says it has ${count} records`,
    { count },
    'malformed',
  ]),
  ['with lengths that never end', { packed: Buffer.alloc(20, 255) }, 'malformed'],
  // A record of 14 bytes.
  [
    'with 2^30 headers',
    { packed: Buffer.from([24, 0, 0, 0, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x08, 0, 0]) },
    'malformed',
  ],
];

describe('a record set', () => {
  it.each(Object.keys(javaBatches))('has the messages of Java with %s', async (codec) => {
    const batch = Buffer.from(javaBatches[codec] ?? '', 'base64');
    const messages = await decode(batch);
    expect(messages.map(({ value }) => JSON.parse(String(value)) as unknown)).toEqual(
      [1, 1, 3_000].map((count, n) => ({ codec, n, text: 'pão de queijo '.repeat(count) })),
    );
    expect(
      messages.map(({ key, headers, timestamp }) => [String(key), headers, timestamp]),
    ).toEqual(
      [0, 1, 2].map((n) => [
        's1',
        { 'content-type': Buffer.from('application/cloudevents+json') },
        String(1_790_000_000_000 + n),
      ]),
    );
  });

  it('accepts raw snappy, which some producers send', async () => {
    const codec = { number: 2, pack: (bytes: Buffer) => compressSync(bytes) };
    expect(await seen(encodeBatch({ baseOffset: 0, values: texts('a', 'b'), codec }))).toEqual([
      '0 a',
      '1 b',
    ]);
  });

  it('omits a last batch that the fetch limit has cut', async () => {
    for (const length of [1, 11, 12, 60, last.length - 1]) {
      expect(await seen(Buffer.concat([first, last.subarray(0, length)]))).toEqual(['0 a', '1 b']);
    }
  });

  it.each(UNREADABLE)(
    'has a placeholder for an intact batch %s, and the messages around it',
    async (_, batch, reason) => {
      const set = encodeBatch({ baseOffset: 2, values: texts('c', 'd', 'e'), ...batch });
      expect(await bad(set)).toEqual(['0 a', '1 b', [2, 4, reason], '5 f']);
    },
  );

  it('ignores impossible offsets', async () => {
    const values = texts('c', 'd', 'e');
    for (const baseOffset of [-5, 1, 10_000]) {
      const [, , ...others] = await bad(encodeBatch({ baseOffset, values }));
      expect(others).toEqual([[2, 4, 'corrupt']]);
    }
  });

  it('uses claimed offsets in a batch with gaps, if they rise within it', async () => {
    for (const offsetDeltas of [
      [0, 4, 9],
      [2, 4, 6],
    ]) {
      // Records with claimed offsets.
      const records = offsetDeltas.map((offsetDelta) => ({ offsetDelta }));
      const set = encodeBatch({ baseOffset: 10, records, lastOffsetDelta: 9 });
      const { messages, next } = await read(set, { fetchOffset: 10 });
      expect(messages.map(({ offset }) => Number(offset) - 10)).toEqual(offsetDeltas);
      // The log continues at the end of the batch.
      expect(next).toBe(20);
    }
    const falling = encodeBatch({
      baseOffset: 10,
      records: [{ offsetDelta: 4 }, { offsetDelta: 2 }],
      lastOffsetDelta: 9,
    });
    expect(await seen(falling, { fetchOffset: 10 })).toEqual([[10, 19, 'malformed']]);
  });

  it('has one placeholder if any record of a batch is unreadable, from any requested offset', async () => {
    const set = encodeBatch({ records: [{}, {}, { says: { key: 99 } }, {}] });
    const placeholder = { offset: '3', unreadable: { from: 0, to: 3, reason: 'malformed' } };
    for (const fetchOffset of [0, 1, 3]) {
      for (const mostBytes of [1, Infinity])
        expect(await decode(set, { fetchOffset, mostBytes })).toMatchObject([placeholder]);
    }
  });

  it('gives no end for a batch if it is uncertain, and nothing after it', async () => {
    const longer = Buffer.from(whole);
    longer.writeInt32BE(whole.length + 1_000, 8);
    expect(await seen(longer)).toEqual([[2, 4, 'corrupt']]);
    const shorter = Buffer.from(whole);
    shorter.writeInt32BE(3, 8);
    expect(await bad(shorter)).toEqual(['0 a', '1 b', [2, null, 'corrupt']]);
    const vague = withByte(withByte(whole, 26, 50), 60, 7);
    expect(await seen(Buffer.concat([first, vague]))).toEqual(['0 a', '1 b', [2, null, 'corrupt']]);
    expect(await bad(vague)).toEqual(['0 a', '1 b', [2, 4, 'corrupt']]);
    // Nothing that is read again comes before what was asked for.
    expect(await decode(vague, { fetchOffset: 3 })).toMatchObject([{ offset: '3' }]);
  });

  it('survives any change of any byte, and gives the end of the batch', async () => {
    const batch = encodeBatch({
      baseOffset: 2,
      values: texts('c', 'd', 'e'),
      codec: { number: 4, pack: (bytes) => zlib.zstdCompressSync(bytes) },
    });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(batch.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, flip) => {
          const changed = await bad(withByte(batch, at, (batch[at] ?? 0) ^ flip));
          expect(changed.slice(0, 2)).toEqual(['0 a', '1 b']);
          // Only the length can hide later batches, and the leader epoch is not in the checksum.
          const isLength = at >= 8 && at < 12;
          if (!isLength && !(at >= 12 && at < 16)) {
            expect(changed.slice(2)).toEqual([[2, 4, at === 16 ? 'unknown_format' : 'corrupt']]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('transactions', () => {
  /**
   * A log of batches: a message named by offset and producer, or the end of a producer's
   * transaction.
   */
  const log = (...entries: (number | `${'abort' | 'commit'} ${number}`)[]) =>
    entries.map((entry, offset) => {
      if (typeof entry === 'number') {
        return encodeBatch({
          baseOffset: offset,
          values: texts(`p${entry}`),
          ...inTransaction(entry),
        });
      }
      const [kind, producerId] = entry.split(' ');
      return encodeMarker(offset, Number(producerId), kind === 'abort' ? 'abort' : 'commit');
    });
  const begun = (
    ...transactions: (readonly [producerId: number, firstOffset: number, end?: number])[]
  ) => ({
    abortedTransactions: transactions.map(([producerId, firstOffset]) => ({
      producerId: BigInt(producerId),
      firstOffset,
    })),
  });

  it('that were aborted are hidden in a fetch that begins or ends within them', async () => {
    const batches = log(1, 2, 1, 'abort 1', 2, 1, 'abort 2', 'commit 1', 1, 'commit 1');
    /** The broker names transactions that end after the requested offset. */
    const named = (from: number) =>
      begun(
        ...(
          [
            [2, 1, 6],
            [1, 0, 3],
          ] as const
        ).filter(([, , end]) => from <= end),
      );
    const expected = [5, 8];
    for (let from = 0; from < batches.length; from += 1) {
      for (let to = from + 1; to <= batches.length; to += 1) {
        const options = { fetchOffset: from, ...named(from) };
        const { messages, next } = await read(Buffer.concat(batches.slice(from, to)), options);
        const offsets = messages.map(({ offset }) => Number(offset));
        expect(offsets).toEqual(expected.filter((offset) => from <= offset && offset < to));
        // The next fetch always begins after all of it.
        expect(next).toBe(to);
      }
    }
  });

  it('that were aborted are never poison, whatever they contain', async () => {
    const packed = Buffer.from('nothing of the kind');
    const set = Buffer.concat([
      encodeBatch({ baseOffset: 0, values: texts('a', 'b'), packed, ...inTransaction(1) }),
      encodeMarker(2, 1, 'abort'),
      encodeBatch({ baseOffset: 3, values: texts('c') }),
    ]);
    expect(await seen(set, begun([1, 0]))).toEqual(['3 c']);
    expect(await seen(set)).toEqual([[0, 1, 'malformed'], '3 c']);
  });
});

describe('the decompressed size of a batch', () => {
  const zeros = Buffer.alloc(32 * MIB);
  const codecOf = (number: number) => ({ number, pack: (bytes: Buffer) => pack(number, bytes) });

  it.each(Object.entries(CODECS))(
    'is bounded with %s, before it takes memory',
    async (_name, number) => {
      const values = [zeros, zeros, zeros];
      const bomb = encodeBatch({ baseOffset: 2, values, codec: codecOf(number) });
      const before = process.memoryUsage().rss;
      expect(await bad(bomb)).toEqual(['0 a', '1 b', [2, 4, 'unpacks_too_large'], '5 f']);
      expect(process.memoryUsage().rss - before).toBeLessThan(160 * MIB);
    },
  );

  it.each(Object.entries(CODECS))(
    'may far exceed a message, of which only enough to detect that is kept, with %s',
    async (_name, number) => {
      const values = [Buffer.alloc(20 * MIB), ...texts('d')];
      const [large, small] = await decode(encodeBatch({ values, codec: codecOf(number) }));
      expect(large?.value?.buffer.byteLength).toBe(MIB + 1);
      expect([large, small].map((message) => message && valueBytesOf(message))).toEqual([
        20 * MIB,
        1,
      ]);
      expect(String(small?.value)).toBe('d');
    },
  );

  it('is read in pieces with one decompression, without blocking the event loop', async () => {
    const count = 1_000_000;
    // Each record has neither key nor value, and claims the first offset.
    const records = Buffer.alloc(7 * count, Buffer.from([12, 0, 0, 0, 1, 1, 0]));
    const codec = { number: 4, pack: () => zlib.zstdCompressSync(records) };
    const set = encodeBatch({ baseOffset: 7, count, lastOffsetDelta: count - 1, codec });
    const unpacking = createUnpacking();
    let turns = 0;
    const counting = setInterval(() => (turns += 1));
    const read = async (fetchOffset: number) => {
      const budget = new DecodingBudget({ bytes: MIB, milliseconds: Infinity });
      const options = fetched({ fetchOffset, mostBytes: 155_000 });
      const { messages } = await decodeRecordSet(set, options, { unpacking, budget });
      expect(messages.map(({ offset }) => Number(offset))).toEqual(
        // Each takes 3 bytes and 512 more.
        times(301, (index) => fetchOffset + index),
      );
      return budget.isSpent;
    };
    expect(await read(7)).toBe(true);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(2);
    for (const fetchOffset of [306, 900_000]) expect(await read(fetchOffset)).toBe(false);
  });

  it.each<[part: string, RecordToEncode]>([
    ['keys', { key: Buffer.alloc(1_000) }],
    ['values', { value: Buffer.alloc(1_000) }],
    ['header names', { headers: [[Buffer.alloc(1_000, 'x'), null]] }],
    ['headers', { headers: [['x', Buffer.alloc(1_000)]] }],
    ['number of headers', { headers: times(2, () => ['x', null]) }],
  ])(
    'ends a fetch after the %s that reach the limit, in one batch or several, but not before two messages',
    async (_, record) => {
      /** The last one may have any size, the others have one record each. */
      const batchesOf = (...sizes: number[]) =>
        Buffer.concat(
          sizes.map((size, baseOffset) => {
            const records = times(size, () => record);
            return encodeBatch({ baseOffset, records, codec: codecOf(4) });
          }),
        );
      for (const [set, mostBytes, count] of [
        [batchesOf(5), 1_500, 2],
        [batchesOf(5), 4_500, 3],
        [batchesOf(1, 1, 3), 1_500, 2],
        [batchesOf(1, 1, 3), 4_500, 4],
      ] as const) {
        const { messages, next } = await read(set, { mostBytes });
        expect(messages.map(({ offset }) => Number(offset))).toEqual(times(count, (at) => at));
        expect(next).toBe(count);
      }
    },
  );
});
