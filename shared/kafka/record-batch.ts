/**
 * Reads one record batch (format 2, https://kafka.apache.org/documentation/#recordbatch): its
 * checksum, its codec, its records.
 */
import { crc32c } from '@node-rs/crc32';
import { CODECS, MAX_UNPACKED_BYTES, UnpacksTooLarge } from './codecs.ts';
import type { DecodingBudget, Unpacked, Unpacking } from './unpacking.ts';
import { HEADER_BYTES, type LogMessage, MAX_HEADERS, type UnreadableReason } from './message.ts';

/** The bytes before those that a batch's length counts. */
const PREFIX_BYTES = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
export const MAGIC = 2;

const CODEC_BITS = 0x07;
const LOG_APPEND_TIME_BIT = 0x08;
const TRANSACTIONAL_BIT = 0x10;
const CONTROL_BIT = 0x20;

/** The place of the type in the key of a transaction's marker, and the type of an abort. */
const MARKER_TYPE_AT = 2;
const ABORT = 0;

/** The last `Date`, in milliseconds. */
const MAX_TIMESTAMP = 8.64e15;

/** What a message, or a header, takes in memory besides its bytes. */
export const PART_BYTES = 512;
/** The event loop is yielded after this many records. */
const TURN_RECORDS = 64;
/**
 * Key and value of a message in a large batch are cut to this: one byte more than an event may
 * have.
 */
const MAX_KEPT_BYTES = 1_048_576 + 1;
/** No header that is read has a longer name. */
const MAX_NAME_BYTES = 1_024;

export class BatchRejected extends Error {
  override readonly name = 'BatchRejected';
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

export interface BatchHeader {
  baseOffset: number;
  bytes: number;
  magic: number;
  codec: number;
  isTransactional: boolean;
  isControl: boolean;
  lastOffsetDelta: number;
  lastOffset: number;
  firstTimestamp: number;
  /** That of its latest message, or of all if brokers set the time. */
  timestamp: number;
  isAppendTime: boolean;
  producerId: bigint;
  count: number;
}

/** The unchecked header at a place of a record set; `null` if it is cut. */
export function batchHeader(set: Buffer, at: number): BatchHeader | null {
  if (set.length - at < HEADER_BYTES) return null;
  const attributes = set.readInt16BE(at + ATTRIBUTES_AT);
  const baseOffset = Number(set.readBigInt64BE(at));
  const lastOffsetDelta = set.readInt32BE(at + 23);
  return {
    baseOffset,
    bytes: PREFIX_BYTES + set.readInt32BE(at + 8),
    magic: set.readInt8(at + MAGIC_AT),
    codec: attributes & CODEC_BITS,
    isTransactional: (attributes & TRANSACTIONAL_BIT) > 0,
    isControl: (attributes & CONTROL_BIT) > 0,
    lastOffsetDelta,
    lastOffset: baseOffset + Math.max(0, lastOffsetDelta),
    firstTimestamp: Number(set.readBigInt64BE(at + 27)),
    timestamp: Number(set.readBigInt64BE(at + 35)),
    isAppendTime: (attributes & LOG_APPEND_TIME_BIT) > 0,
    producerId: set.readBigInt64BE(at + 43),
    count: set.readInt32BE(at + 57),
  };
}

export function isIntact(batch: Buffer): boolean {
  return crc32c(batch.subarray(ATTRIBUTES_AT)) === batch.readUInt32BE(CRC_AT);
}

export function isAbortMarker(batch: Buffer): boolean {
  const reader = new RecordReader(batch.subarray(HEADER_BYTES));
  try {
    reader.beginRecord();
    return reader.bytes()?.readInt16BE(MARKER_TYPE_AT) === ABORT;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** A timestamp as kafkajs has it, within the range of `Date`. */
export function timestampText(milliseconds: number): string {
  return String(Math.max(-MAX_TIMESTAMP, Math.min(milliseconds, MAX_TIMESTAMP)));
}

/**
 * Which records of a batch are read. A megabyte may unpack to millions, each of which takes
 * hundreds of bytes as a message.
 */
export interface Wanted {
  fetchOffset: number;
  /** The memory of its messages; two are always read. The next fetch brings the others. */
  mostBytes: number;
}

interface DecodedBatch {
  messages: LogMessage[];
  /** The memory that they take. */
  bytes: number;
  isWhole: boolean;
}

export interface Decoding {
  unpacking: Unpacking;
  budget: DecodingBudget;
}

/**
 * Checks all records, so that every reader gets the same result.
 * @throws {BatchRejected} if the batch is poison.
 */
export async function decodeBatch(
  batch: Buffer,
  header: BatchHeader,
  wanted: Wanted,
  { unpacking, budget }: Decoding,
): Promise<DecodedBatch> {
  const decode = async (unpacked: Unpacked) => {
    // A cached one was counted before.
    if (!unpacked.isChecked) budget.spend(unpacked.records.length);
    try {
      const decoded = await decodeRecords(batch, header, unpacked, wanted, budget);
      budget.spend(decoded.bytes);
      return decoded;
    } catch (error) {
      if (error instanceof RangeError)
        throw new BatchRejected('malformed', `its records: ${error.message}`);
      throw error;
    }
  };
  if (header.codec === 0) {
    return decode({ records: batch.subarray(HEADER_BYTES), isLarge: false, isChecked: false });
  }
  const codec = CODECS.get(header.codec);
  if (codec === undefined) {
    throw new BatchRejected('unknown_codec', `unknown compression codec ${header.codec}`);
  }
  try {
    return await unpacking.read(batch, codec, decode);
  } catch (error) {
    if (error instanceof BatchRejected) throw error;
    if (error instanceof UnpacksTooLarge) {
      budget.spend(MAX_UNPACKED_BYTES);
      throw new BatchRejected('unpacks_too_large', error.message);
    }
    throw new BatchRejected(
      'malformed',
      `its content cannot be unpacked: ${error instanceof Error ? error.message : 'unknown error'}`,
    );
  }
}

async function decodeRecords(
  batch: Buffer,
  header: BatchHeader,
  unpacked: Unpacked,
  { fetchOffset, mostBytes }: Wanted,
  budget: DecodingBudget,
): Promise<DecodedBatch> {
  const { records, isLarge } = unpacked;
  const { baseOffset, lastOffsetDelta, count } = header;
  // Each takes seven bytes at least.
  if (count < 0 || count * 7 > records.length) {
    throw new RangeError(`record count ${count} does not fit into the batch`);
  }
  const hasGaps = count !== lastOffsetDelta + 1;
  const reader = new RecordReader(records);
  // Copied, so that a few messages do not keep the buffer of a large batch.
  const copied = (bytes: Buffer) =>
    isLarge ? Buffer.from(bytes.subarray(0, MAX_KEPT_BYTES)) : bytes;
  const keep = (bytes: Buffer | null) => bytes && copied(bytes);
  const headerBytes = copied(batch.subarray(0, HEADER_BYTES));
  const result: DecodedBatch = { messages: [], bytes: 0, isWhole: true };
  let before = -1;
  for (let index = 0; index < count; index += 1) {
    if (index % TURN_RECORDS === 0 && budget.isTurnOver) await budget.yieldTurn();
    const { end, attributes, timestampDelta, offsetDelta } = reader.beginRecord();
    // In a batch without gaps the index is the offset delta; the record's own is ignored.
    const delta = hasGaps ? offsetDelta : index;
    if (delta <= before || delta > lastOffsetDelta)
      throw new RangeError('their offsets do not rise');
    before = delta;
    const isWanted = baseOffset + delta >= fetchOffset;
    const hasRoom = result.bytes < mostBytes || result.messages.length < 2;
    if (!isWanted || !hasRoom) {
      if (isWanted) result.isWhole = false;
      if (isWanted && unpacked.isChecked) return result;
      reader.skipRecord(end);
    } else {
      const recordAt = reader.at;
      const key = reader.bytes();
      const value = reader.bytes();
      const { headers, count: headerCount } = reader.headers(end, keep);
      result.bytes += end - recordAt + PART_BYTES * (1 + headerCount);
      const isCut = isLarge && Math.max(key?.length ?? 0, value?.length ?? 0) > MAX_KEPT_BYTES;
      result.messages.push({
        key: keep(key),
        value: keep(value),
        headers,
        offset: String(baseOffset + delta),
        timestamp: timestampText(
          header.isAppendTime ? header.timestamp : header.firstTimestamp + timestampDelta,
        ),
        attributes,
        batch: headerBytes,
        ...(isCut && { valueBytes: value?.length ?? 0 }),
      });
    }
    if (reader.at !== end) throw new RangeError(`record ${index} is not as long as it says`);
  }
  if (reader.at !== records.length)
    throw new RangeError(`${records.length - reader.at} bytes are left over`);
  unpacked.isChecked = true;
  return result;
}

type Headers = Record<string, Buffer | null | (Buffer | null)[]>;

/** Reads the parts of records. Every method throws a RangeError if the bytes end too early. */
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

  /** Exact up to 2^53. The sign is in the lowest bit, which a larger number would lose. */
  varlong(): number {
    let byte = this.byte();
    const isNegative = (byte & 1) === 1;
    let value = (byte & 127) >>> 1;
    for (let shift = 6; byte > 127; shift += 7) {
      if (shift > 62) throw new RangeError('a number is too long');
      byte = this.byte();
      value += (byte & 127) * 2 ** shift;
    }
    return isNegative ? -value - 1 : value;
  }

  beginRecord() {
    const length = this.varint();
    /** Where the record ends, as it says. */
    const end = this.at + length;
    const attributes = this.byte();
    return { end, attributes, timestampDelta: this.varlong(), offsetDelta: this.varint() };
  }

  /** Bytes behind their length. Any negative length is null, as in other clients. */
  bytes(): Buffer | null {
    const start = this.#skipBytes();
    return start === null ? null : this.#bytes.subarray(start, this.at);
  }

  /** @returns where the skipped bytes begin; `null` for null. */
  #skipBytes(): number | null {
    const length = this.varint();
    if (length < 0) return null;
    const start = this.at;
    if (start + length > this.#bytes.length) throw new RangeError('they are cut');
    this.at += length;
    return start;
  }

  /** Skips the rest of a record, checking it without taking memory. */
  skipRecord(end: number): void {
    this.#skipBytes();
    this.#skipBytes();
    const count = this.#headerCount();
    for (let index = 0; index < Math.min(count, MAX_HEADERS + 1); index += 1) {
      if (this.#skipBytes() === null) throw new RangeError('a header has no name');
      this.#skipBytes();
    }
    if (count > MAX_HEADERS + 1) this.#moveTo(end);
  }

  #headerCount(): number {
    const count = this.varint();
    if (count < 0) throw new RangeError('negative header count');
    return count;
  }

  /** Skips unused headers unchecked: there may be millions. */
  #moveTo(end: number): void {
    if (end < this.at || end > this.#bytes.length) throw new RangeError('they are cut');
    this.at = end;
  }

  /**
   * At most one header more than a message may have.
   * @param end where the record ends.
   * @param keep copies a value if needed.
   */
  headers(
    end: number,
    keep: (value: Buffer | null) => Buffer | null,
  ): { headers: Headers; count: number } {
    // Without a prototype, which the name `__proto__` would set.
    const headers = Object.create(null) as Headers;
    const given = this.#headerCount();
    const count = Math.min(given, MAX_HEADERS + 1);
    for (let index = 0; index < count; index += 1) {
      const name = this.bytes()?.toString('utf8', 0, MAX_NAME_BYTES);
      if (name === undefined) throw new RangeError('a header has no name');
      const value = keep(this.bytes());
      const before = headers[name];
      // There may be thousands of one name.
      if (Array.isArray(before)) before.push(value);
      else headers[name] = before === undefined ? value : [before, value];
    }
    if (given > count) this.#moveTo(end);
    return { headers, count };
  }
}
