/** Compresses record batches like Kafka clients; the product only decompresses. */
import zlib from 'node:zlib';
import { compressFrameSync } from 'lz4-napi';
import { compressSync } from 'snappy';

/** Compressors by the codec number in a record batch. */
const PACKERS: Record<number, (bytes: Buffer) => Buffer> = {
  1: (bytes) => zlib.gzipSync(bytes),
  2: packSnappy,
  3: (bytes) => compressFrameSync(bytes),
  4: (bytes) => zlib.zstdCompressSync(bytes),
};

export function pack(number: number, bytes: Buffer): Buffer {
  return PACKERS[number]?.(bytes) ?? bytes;
}

/** `\x82SNAPPY\0`, then the version and the oldest compatible one. */
const SNAPPY_HEADER = Buffer.from([
  0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1,
]);
const BLOCK_BYTES = 32_768;

/** The block format of snappy-java (https://github.com/xerial/snappy-java, SnappyOutputStream). */
function packSnappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [SNAPPY_HEADER];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = compressSync(bytes.subarray(at, at + BLOCK_BYTES));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}
