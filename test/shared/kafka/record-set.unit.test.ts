import { readFileSync } from 'node:fs';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { compressSync } from 'snappy';
import { describe, expect, it } from 'vitest';
import { valueBytesOf } from '#shared/kafka/message.ts';
import { DecodingBudget, Unpacking } from '#shared/kafka/unpacking.ts';
import { decodeRecordSet, type Fetched } from '#shared/kafka/record-set.ts';
import { pack } from '#test/codecs.ts';
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
/** Records named a, b and so on, with claimed offsets. */
const claiming = (offsetDeltas: number[]) =>
  offsetDeltas.map((offsetDelta, index) => ({
    value: Buffer.from(String.fromCodePoint(97 + index)),
    offsetDelta,
  }));
const texts = (...words: string[]) => words.map((word) => Buffer.from(word));
const read = (set: Buffer, options: Partial<Fetched> = {}) => {
  const decoding = { unpacking: new Unpacking(), budget: new DecodingBudget(UNBOUNDED) };
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
    [Buffer.from('nothing of the kind'), Buffer.alloc(3), Buffer.alloc(0), packedText(number)].map(
      (packed): (typeof UNREADABLE)[number] => [
        `that ${name} cannot unpack: ${packed.length} bytes`,
        { codec: { number, pack: unchanged }, packed },
        'malformed',
      ],
    ),
  ),
  ...[-1, 0, 2, 4, 2 ** 31 - 1].map((count): (typeof UNREADABLE)[number] => [
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
      [1, 1, 3_000].map((times, n) => ({ codec, n, text: 'pão de queijo '.repeat(times) })),
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

  it('has no key where its length is negative', async () => {
    const records = [{ key: null, value: Buffer.from('a'), says: { key: -2 } }];
    expect(await seen(encodeBatch({ records }))).toEqual(['0 a']);
  });

  it('ignores impossible offsets', async () => {
    const values = texts('c', 'd', 'e');
    for (const baseOffset of [-5, 1, 10_000]) {
      expect((await bad(encodeBatch({ baseOffset, values }))).slice(2)).toEqual([
        [2, 4, 'corrupt'],
      ]);
    }
  });

  it('uses claimed offsets in a batch with gaps, if they rise within it', async () => {
    const batch = (offsetDeltas: number[]) =>
      seen(encodeBatch({ baseOffset: 10, records: claiming(offsetDeltas), lastOffsetDelta: 9 }), {
        fetchOffset: 10,
      });
    expect(await batch([0, 4, 9])).toEqual(['10 a', '14 b', '19 c']);
    expect(await batch([2, 4, 6])).toEqual(['12 a', '14 b', '16 c']);
    // The log continues at the end of the batch.
    const set = encodeBatch({ baseOffset: 10, records: claiming([2, 4, 6]), lastOffsetDelta: 9 });
    expect((await read(set, { fetchOffset: 10 })).next).toBe(20);
  });

  it('has one placeholder if any record of a batch is unreadable, from any requested offset', async () => {
    const set = encodeBatch({ records: [{}, {}, { says: { key: 99 } }, {}] });
    for (const fetchOffset of [0, 1, 3]) {
      expect(await seen(set, { fetchOffset })).toEqual([[0, 3, 'malformed']]);
      expect(await seen(set, { fetchOffset, mostBytes: 1 })).toEqual([[0, 3, 'malformed']]);
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
  });

  it('gives a placeholder an offset that kafkajs does not filter, from any requested offset', async () => {
    const offsets = await decode(withByte(whole, 70, 9), { fetchOffset: 3 });
    expect(offsets.map(({ offset }) => offset)).toEqual(['4']);
    const cut = await decode(whole.subarray(0, 40), { fetchOffset: 3 });
    expect(cut.map(({ offset }) => offset)).toEqual(['3']);
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
  const begun = (...transactions: [producerId: number, firstOffset: number][]) => ({
    abortedTransactions: transactions.map(([producerId, firstOffset]) => ({
      producerId: String(producerId),
      firstOffset: String(firstOffset),
    })),
  });

  it('that were aborted are hidden in a fetch that begins or ends within them', async () => {
    const batches = log(1, 2, 1, 2, 'abort 1', 1, 'abort 2', 'commit 1', 1, 'commit 1');
    /** The broker names transactions that end after the requested offset. */
    const named = (from: number) =>
      begun(
        ...(from > 6 ? [] : [[2, 1] as [number, number]]),
        ...(from > 4 ? [] : [[1, 0] as [number, number]]),
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

  it('agree with a model for any order', async () => {
    const steps = fc.array(
      fc.record({
        producer: fc.integer({ min: 1, max: 4 }),
        step: fc.constantFrom('send', 'send', 'abort', 'commit'),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (given, order) => {
        const entries: Parameters<typeof log> = [];
        const open = new Map<number, number[]>();
        const aborted: [number, number][] = [];
        const shown: number[] = [];
        for (const { producer, step } of given) {
          const sent = open.get(producer);
          if (step === 'send') open.set(producer, [...(sent ?? []), entries.length]);
          else if (sent === undefined) continue;
          else {
            open.delete(producer);
            if (step === 'commit') shown.push(...sent);
            else aborted.push([producer, sent[0] ?? 0]);
          }
          entries.push(step === 'send' ? producer : `${step} ${producer}`);
        }
        // A broker hides open transactions.
        const stable = Math.min(entries.length, ...[...open.values()].flat());
        const set = Buffer.concat(log(...entries).slice(0, stable));
        aborted.sort(() => (order.next().value % 2 === 0 ? -1 : 1));
        const messages = await decode(set, begun(...aborted));
        expect(messages.map(({ offset }) => Number(offset))).toEqual(
          shown.filter((offset) => offset < stable).toSorted((a, b) => a - b),
        );
      }),
      { numRuns: 200 },
    );
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
  const value = Buffer.alloc(20 * MIB);
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
      const batch = encodeBatch({
        baseOffset: 2,
        values: [value, ...texts('d')],
        codec: codecOf(number),
      });
      const messages = await decode(batch);
      expect(messages.map((message) => message.value?.buffer.byteLength)).toEqual([
        MIB + 1,
        expect.any(Number),
      ]);
      expect(messages.map((message) => valueBytesOf(message))).toEqual([20 * MIB, 1]);
      expect(String(messages[1]?.value)).toBe('d');
    },
  );

  it('counts even if it is refused: the rest comes with the next fetch, and each fetch makes progress', async () => {
    const codec = { number: 4, pack: () => zlib.zstdCompressSync(Buffer.alloc(65 * MIB)) };
    const bombs = Array.from({ length: 4 }, (_, baseOffset) =>
      encodeBatch({ baseOffset, values: texts('bomb'), codec }),
    );
    const limits = { bytes: 100 * MIB, milliseconds: Infinity };
    const unpacking = new Unpacking();
    const reads: number[][] = [];
    for (let fetchOffset = 0; fetchOffset < 3;) {
      const set = Buffer.concat(bombs.slice(fetchOffset));
      const decoding = { unpacking, budget: new DecodingBudget(limits) };
      const { messages } = await decodeRecordSet(set, fetched({ fetchOffset }), decoding);
      expect(messages.map((message) => message.unreadable?.reason)).not.toContain(undefined);
      reads.push(messages.map(({ offset }) => Number(offset)));
      fetchOffset = Number(messages.at(-1)?.offset);
    }
    // Each fetch begins with the last message of the previous one.
    expect(reads).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
  });

  it('is read in pieces with one decompression, without blocking the event loop', async () => {
    const count = 1_000_000;
    // Each record has neither key nor value, and claims the first offset.
    const records = Buffer.alloc(7 * count, Buffer.from([12, 0, 0, 0, 1, 1, 0]));
    const codec = { number: 4, pack: () => zlib.zstdCompressSync(records) };
    const set = encodeBatch({ baseOffset: 7, count, lastOffsetDelta: count - 1, codec });
    const unpacking = new Unpacking();
    let turns = 0;
    const counting = setInterval(() => (turns += 1));
    const read = async (fetchOffset: number) => {
      const budget = new DecodingBudget({ bytes: MIB, milliseconds: Infinity });
      const options = fetched({ fetchOffset, mostBytes: 155_000 });
      const { messages } = await decodeRecordSet(set, options, { unpacking, budget });
      expect(messages.map(({ offset }) => Number(offset))).toEqual(
        // Each takes 3 bytes and 512 more.
        Array.from({ length: 301 }, (_, index) => fetchOffset + index),
      );
      return budget.isSpent;
    };
    expect(await read(7)).toBe(true);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(2);
    for (const fetchOffset of [306, 605, 5_000, 900_000])
      expect(await read(fetchOffset)).toBe(false);
  });

  it.each<[part: string, RecordToEncode]>([
    ['keys', { key: Buffer.alloc(1_000) }],
    ['values', { value: Buffer.alloc(1_000) }],
    ['header names', { headers: [[Buffer.alloc(1_000, 'x'), null]] }],
    ['headers', { headers: [['x', Buffer.alloc(1_000)]] }],
  ])(
    'ends a fetch after the %s that reach the limit, in one batch or several',
    async (_, record) => {
      const codec = codecOf(4);
      const batches = [0, 1, 2, 3, 4].map((baseOffset) =>
        encodeBatch({ baseOffset, records: [record], codec }),
      );
      for (const set of [
        Buffer.concat(batches),
        encodeBatch({ records: Array(5).fill(record), codec }),
      ]) {
        const messages = await decode(set, { mostBytes: 1_500 });
        expect(messages.map(({ offset }) => offset)).toEqual(['0', '1']);
      }
    },
  );

  it('is read in parts, for any batch: each message comes once, in order', async () => {
    const codec = codecOf(4);
    const many = Array.from({ length: 5_000 }, () => Buffer.alloc(0));
    const set = Buffer.concat([
      encodeBatch({ baseOffset: 0, values: many, codec }),
      encodeBatch({ baseOffset: 5_000, values: texts('x'), headers: ['a', 'b', 'c'] }),
      encodeBatch({ baseOffset: 5_001, values: many }),
    ]);
    const offsets: string[] = [];
    for (let fetchOffset = 0; fetchOffset <= 10_000;) {
      const options = { fetchOffset, mostBytes: 150_000 };
      const found = (await decode(set, options)).map(({ offset }) => offset);
      expect(found.length).toBeGreaterThan(fetchOffset === 10_000 ? 0 : 1);
      expect(found.length).toBeLessThanOrEqual(300);
      // The next fetch begins with the last message while there are more.
      offsets.push(...(fetchOffset === 0 ? found : found.slice(1)));
      fetchOffset = Number(found.at(-1)) + (found.at(-1) === '10000' ? 1 : 0);
    }
    expect(offsets).toEqual(Array.from({ length: 10_001 }, (_, offset) => String(offset)));
  });

  it('is at least two messages with any number of headers', async () => {
    const headers = Array.from({ length: 50 }, (_, index) => `h${index}`);
    const set = encodeBatch({ baseOffset: 0, values: texts('a', 'b', 'c', 'd'), headers });
    const offsets = async (options: Partial<Fetched>) =>
      (await decode(set, { mostBytes: 10_000, ...options })).map(({ offset }) => offset);
    expect(await offsets({})).toEqual(['0', '1']);
    expect(await offsets({ fetchOffset: 1 })).toEqual(['1', '2']);
    expect(await offsets({ fetchOffset: 3 })).toEqual(['3']);
  });
});
