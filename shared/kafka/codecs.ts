/**
 * Unpacks all compression codecs of Kafka, each with a bound that is checked before more memory is
 * taken.
 */
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { decompressFrame, decompressFrameSync } from 'lz4-napi';
import { uncompress, uncompressSync } from 'snappy';
import { hasCode } from '../errors.ts';

/** The most bytes that a compressed batch may unpack to: 64 times the largest valid message. */
export const MAX_UNPACKED_BYTES = 64 * 1_048_576;

export class UnpacksTooLarge extends Error {
  override readonly name = 'UnpacksTooLarge';

  constructor(codec: string, most: number) {
    super(`its ${codec} data unpacks to more than ${most} bytes`);
  }
}

export interface Codec {
  /** @throws {UnpacksTooLarge}, and any error for bytes that the codec does not make. */
  unpack: (packed: Buffer, most: number) => Buffer;
  unpackInThread: (packed: Buffer, most: number) => Promise<Buffer>;
}

/** By the number of a record batch. */
export const CODECS: ReadonlyMap<number, Codec> = new Map([
  [1, bounded('gzip', zlib.gunzipSync, promisify(zlib.gunzip))],
  [2, measured('snappy', snappySize, unpackSnappy, unpackSnappyInThread)],
  [3, measured('lz4', lz4FrameSize, decompressFrameSync, decompressFrame)],
  [4, bounded('zstd', zlib.zstdDecompressSync, promisify(zlib.zstdDecompress))],
]);

interface Bounds {
  maxOutputLength: number;
  chunkSize?: number;
}

/** A codec of Node, which has bounds. */
function bounded(
  name: string,
  unpack: (packed: Buffer, bounds: Bounds) => Buffer,
  unpackInThread: (packed: Buffer, bounds: Bounds) => Promise<Buffer>,
): Codec {
  const failure = (error: unknown, most: number) =>
    hasCode(error, 'ERR_BUFFER_TOO_LARGE') ? new UnpacksTooLarge(name, most) : (error as Error);
  return {
    unpack(packed, most) {
      try {
        return unpack(packed, { maxOutputLength: most });
      } catch (error) {
        throw failure(error, most);
      }
    },
    unpackInThread: (packed, most) =>
      // One chunk, of which only the filled part takes memory: joining chunks blocks the event
      // loop.
      unpackInThread(packed, { maxOutputLength: most, chunkSize: most + 1 }).catch(
        (error: unknown) => {
          throw failure(error, most);
        },
      ),
  };
}

/** A codec without bounds, whose size unpacked is read from the packed bytes first. */
function measured(
  name: string,
  sizeOf: (packed: Buffer, most: number) => number,
  unpack: (packed: Buffer) => Buffer,
  unpackInThread: (packed: Buffer, size: number) => Promise<Buffer>,
): Codec {
  const measure = (packed: Buffer, most: number) => {
    const size = sizeOf(packed, most);
    if (size > most) throw new UnpacksTooLarge(name, most);
    return size;
  };
  return {
    unpack(packed, most) {
      measure(packed, most);
      return unpack(packed);
    },
    unpackInThread: async (packed, most) => unpackInThread(packed, measure(packed, most)),
  };
}

const LZ4_MAGIC = 0x184d2204;
const VERSION_BITS = 0xc0;
const VERSION = 0x40;
const BLOCK_CHECKSUMS = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const DICTIONARY = 0x01;
const STORED = 0x80_00_00_00;
const CHECKSUM_BYTES = 4;
const MIN_MATCH = 4;

/**
 * The size of an LZ4 frame unpacked: sequences say how long they are
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md, lz4_Block_format.md).
 * @returns a size above `most` as soon as that is certain. @throws {RangeError} if it is not a whole frame.
 */
function lz4FrameSize(frame: Buffer, most: number): number {
  if (frame.readUInt32LE(0) !== LZ4_MAGIC) throw new RangeError('no LZ4 frame');
  const flags = frame.readUInt8(4);
  if ((flags & VERSION_BITS) !== VERSION) throw new RangeError('an LZ4 frame of another version');
  let at = 7 + ((flags & CONTENT_SIZE) > 0 ? 8 : 0) + ((flags & DICTIONARY) > 0 ? 4 : 0);
  let size = 0;
  for (;;) {
    const head = frame.readUInt32LE(at);
    at += 4;
    if (head === 0) break;
    const isStored = head >= STORED;
    const end = at + (isStored ? head - STORED : head);
    if (end > frame.length) throw new RangeError('an LZ4 frame that is cut');
    size += isStored ? end - at : blockSize(frame, at, end, most - size);
    if (size > most) return size;
    at = end + ((flags & BLOCK_CHECKSUMS) > 0 ? CHECKSUM_BYTES : 0);
  }
  if ((flags & CONTENT_CHECKSUM) > 0) frame.readUInt32LE(at);
  return size;
}

function blockSize(block: Buffer, start: number, end: number, most: number): number {
  let at = start;
  let size = 0;
  /** The rest of a length whose first four bits are all set. */
  const extended = () => {
    let length = 0;
    for (;;) {
      const byte = block.readUInt8(at);
      at += 1;
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (at < end && size <= most) {
    const token = block.readUInt8(at);
    at += 1;
    const literals = (token >>> 4) + (token >>> 4 === 15 ? extended() : 0);
    size += literals;
    at += literals;
    // The last sequence has no match.
    if (at >= end) break;
    at += 2;
    size += MIN_MATCH + (token & 15) + ((token & 15) === 15 ? extended() : 0);
  }
  return size;
}

/**
 * `\x82SNAPPY\0`. Behind it and two versions lie the blocks of snappy-java, as of most of Kafka's clients
 * (https://github.com/xerial/snappy-java, SnappyOutputStream).
 */
const SNAPPY_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
const SNAPPY_HEADER_BYTES = 16;
/** Publishers write blocks of 32 KiB; each costs a call. */
const MAX_SNAPPY_BLOCKS = 4_096;

/** The size unpacked, as each block declares it. @throws {RangeError} if it is cut. */
function snappySize(packed: Buffer): number {
  return blocksOf(packed).reduce((size, block) => size + declaredSize(block), 0);
}

function unpackSnappy(packed: Buffer): Buffer {
  return Buffer.concat(blocksOf(packed).map((block) => Buffer.from(uncompressSync(block))));
}

/** The same in a thread. @param size unpacked. */
async function unpackSnappyInThread(packed: Buffer, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const block of blocksOf(packed)) at += Buffer.from(await uncompress(block)).copy(bytes, at);
  return bytes;
}

function blocksOf(packed: Buffer): Buffer[] {
  if (!packed.subarray(0, SNAPPY_MAGIC.length).equals(SNAPPY_MAGIC)) return [packed];
  const blocks: Buffer[] = [];
  for (let at = SNAPPY_HEADER_BYTES; at < packed.length;) {
    const length = packed.readInt32BE(at);
    at += 4;
    if (length < 0 || at + length > packed.length)
      throw new RangeError('a snappy block that is cut');
    blocks.push(packed.subarray(at, at + length));
    if (blocks.length > MAX_SNAPPY_BLOCKS) throw new RangeError('too many snappy blocks');
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
