/**
 * How large an LZ4 frame is unpacked, told without unpacking it: sequences say how long they are
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md, lz4_Block_format.md).
 */

const MAGIC = 0x184d2204;
const VERSION_BITS = 0xc0;
const VERSION = 0x40;
const BLOCK_CHECKSUMS = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const DICTIONARY = 0x01;
const STORED = 0x80_00_00_00;
const CHECKSUM_BYTES = 4;
const SHORTEST_MATCH = 4;

/**
 * @returns the size of what the frame holds, or something above `most` as soon as it is known to be above.
 * @throws {RangeError} where it is no whole frame.
 */
export function lz4FrameSize(frame: Buffer, most: number): number {
  if (frame.readUInt32LE(0) !== MAGIC) throw new RangeError('no LZ4 frame');
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
    size += SHORTEST_MATCH + (token & 15) + ((token & 15) === 15 ? extended() : 0);
  }
  return size;
}
