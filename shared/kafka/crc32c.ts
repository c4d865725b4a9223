/** CRC-32C (Castagnoli), the check sum of record batches. Node itself has only the other CRC-32. */

const POLYNOMIAL = 0x82f63b78;
/** Eight tables of 256, one behind the other, take eight bytes at a time. */
const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index += 1) {
    const before = tables[index - 256] as number;
    tables[index] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}

/** The checksum of some bytes, as an unsigned number. */
export function crc32c(bytes: Uint8Array): number {
  const table = (number: number, byte: number) => TABLES[number * 256 + byte] as number;
  const byteAt = (at: number) => bytes[at] as number;
  let crc = -1;
  let at = 0;
  for (const end = bytes.length - 7; at < end; at += 8) {
    crc ^= byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24);
    crc =
      table(7, crc & 255) ^
      table(6, (crc >>> 8) & 255) ^
      table(5, (crc >>> 16) & 255) ^
      table(4, crc >>> 24) ^
      table(3, byteAt(at + 4)) ^
      table(2, byteAt(at + 5)) ^
      table(1, byteAt(at + 6)) ^
      table(0, byteAt(at + 7));
  }
  for (; at < bytes.length; at += 1) crc = (crc >>> 8) ^ table(0, (crc ^ byteAt(at)) & 255);
  return ~crc >>> 0;
}
