/** Record batches made byte by byte, right and wrong, as no client would make them. */
import { crc32c } from '@node-rs/crc32';

export interface BatchToEncode {
  baseOffset: number;
  values: readonly Buffer[];
  /** Names of the headers of each message; their values are empty. */
  headers?: readonly string[];
  /** The number of the codec, and what packs with it. */
  codec?: { number: number; pack: (records: Buffer) => Buffer };
  /** Bytes that stand in the place of the packed records. */
  packed?: Buffer;
  lastOffsetDelta?: number;
  count?: number;
  magic?: number;
}

/** A batch with a right checksum, whatever else is wrong with it. */
export function encodeBatch({
  baseOffset,
  values,
  headers = [],
  codec,
  packed,
  lastOffsetDelta = values.length - 1,
  count = values.length,
  magic = 2,
}: BatchToEncode): Buffer {
  const records = Buffer.concat(values.map((value, index) => encodeRecord(index, value, headers)));
  const body = packed ?? codec?.pack(records) ?? records;
  const batch = Buffer.alloc(61 + body.length);
  batch.writeBigInt64BE(BigInt(baseOffset), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt8(magic, 16);
  batch.writeInt16BE(codec?.number ?? 0, 21);
  batch.writeInt32BE(lastOffsetDelta, 23);
  batch.writeBigInt64BE(1_790_000_000_000n, 27);
  batch.writeBigInt64BE(1_790_000_000_000n, 35);
  batch.writeBigInt64BE(-1n, 43);
  batch.writeInt16BE(-1, 51);
  batch.writeInt32BE(-1, 53);
  batch.writeInt32BE(count, 57);
  body.copy(batch, 61);
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

function encodeRecord(index: number, value: Buffer, headers: readonly string[]): Buffer {
  const parts = [
    Buffer.from([0]),
    varint(0),
    varint(index),
    varint(2),
    Buffer.from('s1'),
    varint(value.length),
    value,
    varint(headers.length),
    ...headers.flatMap((name) => [varint(Buffer.byteLength(name)), Buffer.from(name), varint(0)]),
  ];
  const record = Buffer.concat(parts);
  return Buffer.concat([varint(record.length), record]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
