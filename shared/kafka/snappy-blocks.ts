/**
 * Snappy as Kafka's clients write it: raw, or in the blocks of snappy-java, which most write
 * (https://github.com/xerial/snappy-java, SnappyOutputStream).
 */
import { compressSync, uncompressSync } from 'snappy';

/** `\x82SNAPPY\0`, then the version and the oldest that reads it. */
const HEADER = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
const MAGIC = HEADER.subarray(0, 8);
const BLOCK_BYTES = 32_768;

/** Packs as snappy-java does. */
export function packSnappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [HEADER];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = compressSync(bytes.subarray(at, at + BLOCK_BYTES));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/** The size unpacked, from what each block says of itself. @throws {RangeError} where it is cut. */
export function snappySize(packed: Buffer): number {
  return blocksOf(packed).reduce((size, block) => size + declaredSize(block), 0);
}

/** Unpacks either kind. */
export function unpackSnappy(packed: Buffer): Buffer {
  const parts = blocksOf(packed).map((block) => Buffer.from(uncompressSync(block)));
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

function blocksOf(packed: Buffer): Buffer[] {
  if (!packed.subarray(0, MAGIC.length).equals(MAGIC)) return [packed];
  const blocks: Buffer[] = [];
  for (let at = HEADER.length; at < packed.length;) {
    const length = packed.readInt32BE(at);
    at += 4;
    if (length < 0 || at + length > packed.length) throw new RangeError('a snappy block that is cut');
    blocks.push(packed.subarray(at, at + length));
    at += length;
  }
  return blocks;
}

/** A block begins with its size unpacked, seven bits in each byte. */
function declaredSize(block: Buffer): number {
  let size = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block.readUInt8(at);
    size += (byte & 127) * 2 ** (7 * at);
    if (byte < 128) return size;
  }
  throw new RangeError('a snappy block without its size');
}
