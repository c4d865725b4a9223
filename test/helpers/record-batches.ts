/** Makes valid and invalid record batches byte by byte. */
import { crc32c } from '@node-rs/crc32';

export interface BatchToEncode {
  baseOffset?: number;
  values?: readonly Buffer[];
  /** The header names of each message; values are empty. */
  headers?: readonly string[];
  /** Records or their bytes, instead of `values` and `headers`. */
  records?: readonly (RecordToEncode | Buffer)[];
  /** The codec number and its compressor. */
  codec?: { number: number; pack: (records: Buffer) => Buffer };
  /** Bytes that replace the compressed records. */
  packed?: Buffer;
  lastOffsetDelta?: number;
  count?: number;
  magic?: number;
  timestamp?: bigint;
  /** Bits in addition to the codec's. */
  attributes?: number;
  producer?: { id: bigint; epoch: number; sequence: number };
}

export interface RecordToEncode {
  key?: Buffer | null;
  value?: Buffer | null;
  headers?: readonly (readonly [name: string | Buffer | null, value: Buffer | null])[];
  /** By default the index in the batch. */
  offsetDelta?: number;
  timestampDelta?: bigint;
  /** False lengths and header counts. */
  says?: { length?: number; key?: number; value?: number; headers?: number; headerValue?: number };
}

/** A batch with a valid checksum. */
export function encodeBatch({
  baseOffset = 0,
  values = [],
  headers = [],
  records: given = values.map((value) => ({
    key: Buffer.from('s1'),
    value,
    headers: headers.map((name) => [name, Buffer.alloc(0)] as const),
  })),
  codec,
  packed,
  lastOffsetDelta = given.length - 1,
  count = given.length,
  magic = 2,
  timestamp = 1_790_000_000_000n,
  attributes = 0,
  producer = { id: -1n, epoch: -1, sequence: -1 },
}: BatchToEncode): Buffer {
  const records = Buffer.concat(
    given.map((record, index) => (Buffer.isBuffer(record) ? record : encodeRecord(record, index))),
  );
  const body = packed ?? codec?.pack(records) ?? records;
  const batch = Buffer.alloc(61 + body.length);
  batch.writeBigInt64BE(BigInt(baseOffset), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt8(magic, 16);
  batch.writeInt16BE((codec?.number ?? 0) | attributes, 21);
  batch.writeInt32BE(lastOffsetDelta, 23);
  batch.writeBigInt64BE(timestamp, 27);
  batch.writeBigInt64BE(timestamp, 35);
  batch.writeBigInt64BE(producer.id, 43);
  batch.writeInt16BE(producer.epoch, 51);
  batch.writeInt32BE(producer.sequence, 53);
  batch.writeInt32BE(count, 57);
  body.copy(batch, 61);
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** Makes a batch part of a producer's transaction. */
export function inTransaction(
  id: number,
): Required<Pick<BatchToEncode, 'attributes' | 'producer'>> {
  return { attributes: TRANSACTIONAL, producer: { id: BigInt(id), epoch: 0, sequence: 0 } };
}

/** The control batch that ends a producer's transaction. */
export function encodeMarker(
  baseOffset: number,
  producerId: number,
  kind: 'abort' | 'commit',
): Buffer {
  const key = Buffer.from([0, 0, 0, kind === 'commit' ? 1 : 0]);
  const { attributes, producer } = inTransaction(producerId);
  return encodeBatch({
    baseOffset,
    records: [{ key, value: Buffer.alloc(6) }],
    attributes: attributes | CONTROL,
    producer,
  });
}

/** One record with its length prefix. @param index in the batch. */
export function encodeRecord(
  {
    key = null,
    value = null,
    headers = [],
    offsetDelta,
    timestampDelta = 0n,
    says = {},
  }: RecordToEncode,
  index = 0,
): Buffer {
  const record = Buffer.concat([
    Buffer.from([0]),
    varint(timestampDelta),
    varint(offsetDelta ?? index),
    bytes(key, says.key),
    bytes(value, says.value),
    varint(says.headers ?? headers.length),
    ...headers.flatMap(([name, of]) => [
      bytes(typeof name === 'string' ? Buffer.from(name) : name),
      bytes(of, says.headerValue),
    ]),
  ]);
  return Buffer.concat([varint(says.length ?? record.length), record]);
}

function bytes(given: Buffer | null, length = given?.length ?? -1): Buffer {
  return Buffer.concat([varint(length), given ?? Buffer.alloc(0)]);
}

/** Kafka's varint: zigzag, seven bits per byte. */
export function varint(value: number | bigint): Buffer {
  const signed = BigInt(value);
  const digits: number[] = [];
  let rest = signed >= 0n ? signed * 2n : -signed * 2n - 1n;
  for (; rest > 127n; rest /= 128n) digits.push(Number(rest % 128n) | 128);
  return Buffer.from([...digits, Number(rest)]);
}
