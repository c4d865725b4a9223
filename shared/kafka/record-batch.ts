/**
 * Reads one record batch (format 2, https://kafka.apache.org/documentation/#recordbatch): its checksum, its codec, its records. What
 * is wrong is an error, never a message of another shape.
 */
import { crc32c } from '@node-rs/crc32';
import { codecOf, UnpacksTooLarge } from './codecs.ts';
import type { UnreadableBatch, UnreadableReason } from './unreadable.ts';

/** Of a batch without records, its own length included. */
export const HEADER_BYTES = 61;
/** Before what a batch's length counts. */
const PREFIX_BYTES = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
export const MAGIC = 2;

const CODEC_BITS = 0x07;
const LOG_APPEND_TIME_BIT = 0x08;
const TRANSACTIONAL_BIT = 0x10;
const CONTROL_BIT = 0x20;

/** Thrown for a batch that cannot be read. */
export class BatchRejected extends Error {
  override readonly name = 'BatchRejected';
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** What a batch says of itself, its records left aside. */
export interface BatchHeader {
  baseOffset: number;
  bytes: number;
  magic: number;
  lastOffsetDelta: number;
  count: number;
}

/** The header at a place of a record set; `null` where not even that is there. Nothing of it is checked. */
export function batchHeader(set: Buffer, at: number): BatchHeader | null {
  if (set.length - at < HEADER_BYTES) return null;
  return {
    baseOffset: Number(set.readBigInt64BE(at)),
    bytes: PREFIX_BYTES + set.readInt32BE(at + 8),
    magic: set.readInt8(at + MAGIC_AT),
    lastOffsetDelta: set.readInt32BE(at + 23),
    count: set.readInt32BE(at + 57),
  };
}

/** Whether a whole batch is what was written. */
export function isIntact(batch: Buffer): boolean {
  return crc32c(batch.subarray(ATTRIBUTES_AT)) === batch.readUInt32BE(CRC_AT);
}

/** A message as kafkajs makes it, with what its `Batch` asks of it. */
export interface DecodedMessage {
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer | Buffer[]>;
  offset: string;
  timestamp: string;
  attributes: number;
  /** Tells where a transaction ends; never handed out. */
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
  /** Of what stands for a batch that cannot be read. */
  unreadable?: UnreadableBatch;
}

/** Which of a batch's records are read. A megabyte may unpack to millions of them, each of which takes hundreds of bytes as a message. */
export interface Wanted {
  /** The first offset: kafkajs leaves out what lies below it. */
  from: number;
  /** How many, each header counted as well; two are read in any case. The others come with the next fetch. */
  most: number;
}

/** What a message has beyond is left out: they are three bytes each, and take forty times as much. */
const MOST_HEADERS = 500_000;

export interface DecodedBatch {
  messages: DecodedMessage[];
  /** Messages and their headers. */
  parts: number;
  /** What it took unpacked; 0 where it is not compressed. */
  unpackedBytes: number;
}

/** Reads a batch as far as it is wanted. @param most bytes that it may unpack to. @throws {BatchRejected} */
export function decodeBatch(batch: Buffer, most: number, wanted: Wanted): DecodedBatch {
  if (!isIntact(batch)) throw new BatchRejected('corrupt', 'its checksum is wrong');
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const packed = batch.subarray(HEADER_BYTES);
  const codec = attributes & CODEC_BITS;
  const records = codec === 0 ? packed : unpack(packed, codec, most);
  try {
    return {
      ...decodeRecords(batch, attributes, records, wanted),
      unpackedBytes: codec === 0 ? 0 : records.length,
    };
  } catch (error) {
    if (error instanceof RangeError) throw new BatchRejected('corrupt', `its records: ${error.message}`);
    throw error;
  }
}

function unpack(packed: Buffer, number: number, most: number): Buffer {
  const codec = codecOf(number);
  if (codec === undefined) {
    throw new BatchRejected(
      'unknown_codec',
      `it is compressed with codec ${number}, which is none of Kafka's`,
    );
  }
  try {
    return codec.unpack(packed, most);
  } catch (error) {
    if (error instanceof UnpacksTooLarge) throw new BatchRejected('unpacks_too_large', error.message);
    throw new BatchRejected(
      'corrupt',
      `what it holds cannot be unpacked: ${error instanceof Error ? error.message : 'unknown error'}`,
    );
  }
}

function decodeRecords(
  batch: Buffer,
  attributes: number,
  records: Buffer,
  { from, most }: Wanted,
): Omit<DecodedBatch, 'unpackedBytes'> {
  const baseOffset = Number(batch.readBigInt64BE(0));
  const firstTimestamp = Number(batch.readBigInt64BE(27));
  const appendTime = (attributes & LOG_APPEND_TIME_BIT) > 0 ? String(batch.readBigInt64BE(35)) : null;
  const isControlRecord = (attributes & CONTROL_BIT) > 0;
  const batchContext = {
    producerId: String(batch.readBigInt64BE(43)),
    inTransaction: (attributes & TRANSACTIONAL_BIT) > 0,
  };
  const count = batch.readInt32BE(57);
  const reader = new RecordReader(records);
  // Each takes seven bytes at least, so that a wrong count cannot make us take much memory.
  if (count < 0 || count * 7 > records.length) throw new RangeError(`there cannot be ${count} of them`);
  const messages: DecodedMessage[] = [];
  let parts = 0;
  for (let index = 0; index < count; index += 1) {
    if (parts >= most && messages.length >= 2) return { messages, parts };
    const length = reader.varint();
    const end = reader.at + length;
    const recordAttributes = reader.byte();
    const timestamp = firstTimestamp + reader.varlong();
    const offset = baseOffset + reader.varint();
    // The last one is read in any case: kafkajs takes a batch without any for the end of the log.
    if (offset < from && index + 1 < count) {
      reader.moveTo(end);
      continue;
    }
    const key = reader.bytes();
    const value = reader.bytes();
    const { headers, count: headerCount } = reader.headers(end);
    if (reader.at !== end) throw new RangeError(`record ${index} is not as long as it says`);
    parts += 1 + headerCount;
    messages.push({
      key,
      value,
      headers,
      offset: String(offset),
      timestamp: appendTime ?? String(timestamp),
      attributes: recordAttributes,
      isControlRecord,
      batchContext,
    });
  }
  if (reader.at !== records.length) throw new RangeError(`${records.length - reader.at} bytes are left over`);
  return { messages, parts };
}

/** Reads what records are made of. Every method throws a RangeError where the bytes end too early. */
class RecordReader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new RangeError('they are cut');
    this.at += 1;
    return byte;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return (value >>> 1) ^ -(value & 1);
    }
    throw new RangeError('a number is too long');
  }

  /** Exact up to 2^53. */
  varlong(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
    throw new RangeError('a number is too long');
  }

  bytes(): Buffer | null {
    const length = this.varint();
    if (length === -1) return null;
    if (length < 0 || this.at + length > this.#bytes.length) throw new RangeError('they are cut');
    const start = this.at;
    this.at += length;
    return this.#bytes.subarray(start, this.at);
  }

  /** Goes on behind what is not read. */
  moveTo(at: number): void {
    if (at < this.at || at > this.#bytes.length) throw new RangeError('they are cut');
    this.at = at;
  }

  /** The headers of a record, and how many they are. @param end where the record ends. */
  headers(end: number): { headers: DecodedMessage['headers']; count: number } {
    const headers: DecodedMessage['headers'] = {};
    const given = this.varint();
    if (given < 0) throw new RangeError('there are less headers than none');
    const count = Math.min(given, MOST_HEADERS);
    for (let index = 0; index < count; index += 1) {
      const name = this.bytes()?.toString('utf8') ?? '';
      // kafkajs hands out null too, though its types leave that out.
      const value = this.bytes() as Buffer;
      const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
      // There may be hundreds of thousands of one name.
      if (Array.isArray(before)) {
        before.push(value);
        continue;
      }
      // An assignment to `__proto__` would set something else.
      Object.defineProperty(headers, name, {
        value: before === undefined ? value : [before, value],
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    if (given > count) this.moveTo(end);
    return { headers, count };
  }
}
