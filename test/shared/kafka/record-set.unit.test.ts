import { readFileSync } from 'node:fs';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { compressFrameSync } from 'lz4-napi';
import { compressSync } from 'snappy';
import { describe, expect, it } from 'vitest';
import { codecOf } from '#shared/kafka/codecs.ts';
import { crc32c } from '@node-rs/crc32';
import { decodeRecordSet, type Fetched } from '#shared/kafka/record-set.ts';
import { unreadableBatch } from '#shared/kafka/unreadable.ts';
import { encodeBatch } from '#test/record-batches.ts';

/** What the Java client of Kafka 4.3 produced, one batch of three messages for each codec, taken from a fetch. */
const javaBatches = JSON.parse(
  readFileSync(new URL('./java-batches.json', import.meta.url), 'utf8'),
) as Record<string, string>;

const CODECS = { gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const MIB = 1_048_576;

const fetched = (options: Partial<Fetched> = {}): Fetched => ({
  fetchOffset: 0,
  highWatermark: 1_000,
  most: Infinity,
  enough: Infinity,
  ...options,
});
const texts = (...words: string[]) => words.map((word) => Buffer.from(word));
/** Values of messages, and for what stands in between the offsets of the batch and the reason. */
const seen = (set: Buffer, options: Partial<Fetched> = {}) =>
  decodeRecordSet(set, fetched(options)).messages.map((message) => {
    const batch = unreadableBatch(message);
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
const bad = (set: Buffer, options?: Partial<Fetched>) => seen(Buffer.concat([first, set, last]), options);
const whole = encodeBatch({ baseOffset: 2, values: texts('c', 'd', 'e') });

describe('crc32c', () => {
  it('is that of the standard', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(crc32c(Buffer.alloc(0))).toBe(0);
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
  });
});

describe('a record set', () => {
  it.each(Object.keys(javaBatches))('has what Java produced with %s', (codec) => {
    const batch = Buffer.from(javaBatches[codec] ?? '', 'base64');
    const { messages, unpackedBytes } = decodeRecordSet(batch, fetched());
    expect(messages.map(({ value }) => JSON.parse(String(value)) as unknown)).toEqual(
      [1, 1, 3_000].map((times, n) => ({ codec, n, text: 'pão de queijo '.repeat(times) })),
    );
    expect(messages.map(({ key, headers, timestamp }) => [String(key), headers, timestamp])).toEqual(
      [0, 1, 2].map((n) => [
        's1',
        { 'content-type': Buffer.from('application/cloudevents+json') },
        String(1_790_000_000_000 + n),
      ]),
    );
    expect(unpackedBytes).toBeGreaterThan(45_000);
  });

  it('has the headers of a message, however many have one name', { timeout: 60_000 }, () => {
    const headers = ['a', ...Array.from({ length: 300_000 }, () => ''), 'b', 'a', '__proto__'];
    const set = encodeBatch({ baseOffset: 0, values: texts('x'), headers });
    const read = decodeRecordSet(set, fetched()).messages[0]?.headers ?? {};
    const empty = Buffer.alloc(0);
    expect(Object.keys(read)).toEqual(['a', '', 'b', '__proto__']);
    expect([read['a'], read['b']]).toEqual([[empty, empty], empty]);
    expect(read['']).toHaveLength(300_000);
  });

  it.each(Object.entries(CODECS))('has what is packed with %s, whatever it is', (_name, number) => {
    const pack = (bytes: Buffer) => codecOf(number)?.pack(bytes) ?? bytes;
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 100_000 }), { minLength: 1, maxLength: 5 }),
        (given) => {
          const values = given.map((value) => Buffer.from(value));
          const set = encodeBatch({ baseOffset: 7, values, codec: { number, pack } });
          const { messages } = decodeRecordSet(set, fetched());
          expect(messages.map(({ value, offset }) => [offset, value])).toEqual(
            values.map((value, index) => [String(7 + index), value]),
          );
        },
      ),
      { numRuns: 20 },
    );
  });

  it('has raw snappy too, which some producers send', () => {
    const codec = { number: 2, pack: (bytes: Buffer) => compressSync(bytes) };
    expect(seen(encodeBatch({ baseOffset: 0, values: texts('a', 'b'), codec }))).toEqual(['0 a', '1 b']);
  });

  it('leaves out a tail that the bound of the fetch has cut', () => {
    for (const length of [1, 11, 12, 60, last.length - 1]) {
      expect(seen(Buffer.concat([first, last.subarray(0, length)]))).toEqual(['0 a', '1 b']);
    }
  });

  it('has messages before and behind a batch that cannot be read, and what stands for it', () => {
    const before = ['0 a', '1 b'];
    const behind = '5 f';
    expect(bad(withByte(whole, whole.length - 3, 7))).toEqual([...before, [2, 4, 'corrupt'], behind]);
    for (const at of [17, 22, 30, 58]) {
      expect(bad(withByte(whole, at, 99))).toEqual([...before, [2, 4, 'corrupt'], behind]);
    }
    expect(bad(withByte(whole, 16, 3))).toEqual([...before, [2, 4, 'unknown_format'], behind]);
    const codec = { number: 6, pack: (bytes: Buffer) => bytes };
    expect(bad(encodeBatch({ baseOffset: 2, values: texts('c', 'd', 'e'), codec }))).toEqual([
      ...before,
      [2, 4, 'unknown_codec'],
      behind,
    ]);
  });

  it.each(Object.entries(CODECS))('says that what %s cannot unpack is corrupt', (_name, number) => {
    const codec = { number, pack: (bytes: Buffer) => bytes };
    const values = texts('c', 'd', 'e');
    for (const packed of [Buffer.from('nothing of the kind'), Buffer.alloc(3), Buffer.alloc(0)]) {
      expect(bad(encodeBatch({ baseOffset: 2, values, codec, packed }))).toEqual([
        '0 a',
        '1 b',
        [2, 4, 'corrupt'],
        '5 f',
      ]);
    }
    const packed = codecOf(number)?.pack(Buffer.alloc(100_000, 'text')) ?? Buffer.alloc(0);
    const cut = packed.subarray(0, packed.length - 10);
    expect(bad(encodeBatch({ baseOffset: 2, values, codec, packed: cut }))[2]).toEqual([2, 4, 'corrupt']);
  });

  it('does not trust counts and lengths, though the checksum is right', () => {
    const values = texts('c');
    const corrupt = [2, 2, 'corrupt'];
    for (const count of [-1, 0, 2, 2 ** 31 - 1]) {
      const batch = encodeBatch({ baseOffset: 2, values, count });
      expect(bad(batch)).toEqual(['0 a', '1 b', corrupt, '5 f']);
    }
    const endless = Buffer.alloc(20, 255);
    expect(bad(encodeBatch({ baseOffset: 2, values, packed: endless }))[2]).toEqual(corrupt);
    // A record of 14 bytes with 2^30 headers.
    const headers = Buffer.from([24, 0, 0, 0, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x08, 0, 0]);
    expect(bad(encodeBatch({ baseOffset: 2, values, packed: headers }))[2]).toEqual(corrupt);
  });

  it('does not believe offsets that cannot be', () => {
    const values = texts('c', 'd', 'e');
    for (const baseOffset of [-5, 1, 998, 10_000]) {
      expect(bad(encodeBatch({ baseOffset, values }))[2]).toEqual([2, 4, 'corrupt']);
    }
  });

  it('says nothing about where a batch ends when that cannot be told, and shows nothing behind it', () => {
    const longer = Buffer.from(whole);
    longer.writeInt32BE(whole.length + 1_000, 8);
    expect(seen(longer)).toEqual([[2, 4, 'corrupt']]);
    const shorter = Buffer.from(whole);
    shorter.writeInt32BE(3, 8);
    expect(bad(shorter)).toEqual(['0 a', '1 b', [2, null, 'corrupt']]);
    const vague = withByte(withByte(whole, 26, 50), 60, 7);
    expect(seen(Buffer.concat([first, vague]))).toEqual(['0 a', '1 b', [2, null, 'corrupt']]);
    expect(bad(vague)).toEqual(['0 a', '1 b', [2, 4, 'corrupt'], '5 f']);
  });

  it('keeps what stands for a batch where kafkajs does not leave it out, however far within it was asked', () => {
    const offsets = decodeRecordSet(withByte(whole, 70, 9), fetched({ fetchOffset: 3 })).messages;
    expect(offsets.map(({ offset }) => offset)).toEqual(['4']);
    const cut = decodeRecordSet(whole.subarray(0, 40), fetched({ fetchOffset: 3 })).messages;
    expect(cut.map(({ offset }) => offset)).toEqual(['3']);
  });

  it('survives any change of any byte, with nothing of another batch lost', () => {
    const batch = encodeBatch({
      baseOffset: 2,
      values: texts('c', 'd', 'e'),
      codec: { number: 4, pack: (bytes) => zlib.zstdCompressSync(bytes) },
    });
    fc.assert(
      fc.property(fc.nat(batch.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = bad(withByte(batch, at, (batch[at] ?? 0) ^ flip));
        expect(changed.slice(0, 2)).toEqual(['0 a', '1 b']);
        // Its own length alone can hide what follows, and the leader's epoch tells nothing.
        const isLength = at >= 8 && at < 12;
        if (!isLength && !(at >= 12 && at < 16)) {
          expect(changed[2]).toEqual([2, 4, expect.any(String)]);
          expect(changed.slice(3)).toEqual(['5 f']);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('what a batch unpacks to', () => {
  const zeros = Buffer.alloc(32 * MIB);
  const value = Buffer.alloc(20 * MIB);
  const packs: Record<number, (bytes: Buffer) => Buffer> = {
    1: (bytes) => zlib.gzipSync(bytes, { level: 1 }),
    2: (bytes) => codecOf(2)?.pack(bytes) ?? bytes,
    3: (bytes) => compressFrameSync(bytes),
    4: (bytes) => zlib.zstdCompressSync(bytes),
  };

  it.each(Object.entries(CODECS))('is bounded with %s, before it takes memory', (_name, number) => {
    const values = [zeros, zeros, zeros];
    const codec = { number, pack: packs[number] ?? ((bytes: Buffer) => bytes) };
    const bomb = encodeBatch({ baseOffset: 2, values, codec });
    const before = process.memoryUsage().rss;
    expect(bad(bomb)).toEqual(['0 a', '1 b', [2, 4, 'unpacks_too_large'], '5 f']);
    expect(process.memoryUsage().rss - before).toBeLessThan(160 * MIB);
  });

  it.each(Object.entries(CODECS))('may be far larger than a message may be, with %s', (_name, number) => {
    const codec = { number, pack: packs[number] ?? ((bytes: Buffer) => bytes) };
    const batch = encodeBatch({ baseOffset: 2, values: [value], codec });
    const { messages } = decodeRecordSet(batch, fetched());
    expect(messages.map((message) => message.value?.length)).toEqual([20 * MIB]);
  });

  it('ends the reading of a fetch behind the batch with which it is enough', () => {
    const codec = { number: 4, pack: (bytes: Buffer) => zlib.zstdCompressSync(bytes) };
    const batches = [0, 1, 2, 3, 4].map((baseOffset) =>
      encodeBatch({ baseOffset, values: [Buffer.alloc(1_000)], codec }),
    );
    const { messages } = decodeRecordSet(Buffer.concat(batches), fetched({ enough: 1_500 }));
    expect(messages.map(({ offset }) => offset)).toEqual(['0', '1', '2']);
  });

  it('is read some messages at a time, whatever a batch holds: each comes once, in order', () => {
    const codec = { number: 4, pack: (bytes: Buffer) => zlib.zstdCompressSync(bytes) };
    const many = Array.from({ length: 5_000 }, () => Buffer.alloc(0));
    const set = Buffer.concat([
      encodeBatch({ baseOffset: 0, values: many, codec }),
      encodeBatch({ baseOffset: 5_000, values: texts('x'), headers: ['a', 'b', 'c'] }),
      encodeBatch({ baseOffset: 5_001, values: many }),
    ]);
    const offsets: string[] = [];
    for (let fetchOffset = 0; fetchOffset <= 10_000;) {
      const options = { fetchOffset, most: 300, highWatermark: 20_000 };
      const found = decodeRecordSet(set, fetched(options))
        .messages.map(({ offset }) => offset)
        // As kafkajs leaves out what a batch holds beside what was asked for.
        .filter((offset) => Number(offset) >= fetchOffset);
      expect(found.length).toBeGreaterThan(fetchOffset === 10_000 ? 0 : 1);
      expect(found.length).toBeLessThanOrEqual(300);
      // The next fetch begins with the last message, as long as there is more.
      offsets.push(...(fetchOffset === 0 ? found : found.slice(1)));
      fetchOffset = Number(found.at(-1)) + (found.at(-1) === '10000' ? 1 : 0);
    }
    expect(offsets).toEqual(Array.from({ length: 10_001 }, (_, offset) => String(offset)));
  });

  it('is two messages at least, however many headers they have, and never nothing', () => {
    const headers = Array.from({ length: 50 }, (_, index) => `h${index}`);
    const set = encodeBatch({ baseOffset: 0, values: texts('a', 'b', 'c', 'd'), headers });
    const offsets = (options: Partial<Fetched>) =>
      decodeRecordSet(set, fetched({ most: 20, ...options })).messages.map(({ offset }) => offset);
    expect(offsets({})).toEqual(['0', '1']);
    expect(offsets({ fetchOffset: 1 })).toEqual(['1', '2']);
    expect(offsets({ fetchOffset: 3 })).toEqual(['3']);
    // Of a log that was compacted: nothing from there on is in the batch.
    expect(offsets({ fetchOffset: 9 })).toEqual(['3']);
  });
});
