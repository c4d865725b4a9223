/**
 * The codecs that a topic's messages may be compressed with: all that Kafka has. None unpacks more than it is allowed to, and what
 * would become larger takes no memory before that is known.
 */
import zlib from 'node:zlib';
import kafkajs from 'kafkajs';
import { compressFrameSync, decompressFrameSync } from 'lz4-napi';
import { lz4FrameSize } from './lz4-frame.ts';
import { packSnappy, snappySize, unpackSnappy } from './snappy-blocks.ts';

/** What a compressed batch may unpack to: 64 times the largest message that can be applied. */
export const MAX_UNPACKED_BYTES = 64 * 1_048_576;

/** Thrown instead of unpacking more than is allowed. */
export class UnpacksTooLarge extends Error {
  override readonly name = 'UnpacksTooLarge';

  constructor(codec: string, most: number) {
    super(`its ${codec} data unpacks to more than ${most} bytes`);
  }
}

interface Codec {
  pack: (bytes: Buffer) => Buffer;
  /** @throws {UnpacksTooLarge}, and whatever else where the bytes are not what the codec makes. */
  unpack: (packed: Buffer, most: number) => Buffer;
}

/** By what a record batch names them. Unpacking at once beats a thread for whatever a batch holds. */
const CODECS = new Map<number, Codec>([
  [
    1,
    {
      pack: (bytes) => zlib.gzipSync(bytes),
      unpack: (packed, most) => bounded('gzip', most, (options) => zlib.gunzipSync(packed, options)),
    },
  ],
  [
    2,
    {
      pack: packSnappy,
      unpack: (packed, most) => {
        if (snappySize(packed) > most) throw new UnpacksTooLarge('snappy', most);
        return unpackSnappy(packed);
      },
    },
  ],
  [
    3,
    {
      pack: (bytes) => compressFrameSync(bytes),
      unpack: (packed, most) => {
        if (lz4FrameSize(packed, most) > most) throw new UnpacksTooLarge('lz4', most);
        return decompressFrameSync(packed);
      },
    },
  ],
  [
    4,
    {
      pack: (bytes) => zlib.zstdCompressSync(bytes),
      unpack: (packed, most) => bounded('zstd', most, (options) => zlib.zstdDecompressSync(packed, options)),
    },
  ],
]);

function bounded(
  codec: string,
  most: number,
  unpack: (options: { maxOutputLength: number }) => Buffer,
): Buffer {
  try {
    return unpack({ maxOutputLength: most });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw new UnpacksTooLarge(codec, most);
    }
    throw error;
  }
}

/** The codec of a number; `undefined` for one that Kafka does not have. */
export function codecOf(number: number): Codec | undefined {
  return CODECS.get(number);
}

/** Gives kafkajs, which has gzip alone and without a bound, all codecs, for producers. */
export function registerCodecs(): void {
  const registry: Record<number, () => unknown> = kafkajs.CompressionCodecs;
  for (const [number, { pack, unpack }] of CODECS) {
    registry[number] = () => ({
      compress: (encoder: { buffer: Buffer }) => Promise.resolve(pack(encoder.buffer)),
      decompress: (packed: Buffer) => Promise.resolve(unpack(packed, MAX_UNPACKED_BYTES)),
    });
  }
}
