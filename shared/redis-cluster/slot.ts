/**
 * The slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it, as the specification of Redis Cluster has it. Our own, since
 * `cluster-key-slot`, which ioredis uses, takes the second braces where the first hold nothing, and Redis all of the key.
 */

export const SLOTS = 16_384;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x80_00 ? 0x10_21 : 0);
  return crc;
});

export function slotOf(key: string): number {
  const opens = key.indexOf('{');
  const closes = key.indexOf('}', opens + 1);
  const hashed = opens === -1 || closes <= opens + 1 ? key : key.slice(opens + 1, closes);
  let crc = 0;
  for (const byte of Buffer.from(hashed)) {
    crc = ((crc << 8) & 0xff_ff) ^ (TABLE[(crc >> 8) ^ byte] ?? 0);
  }
  return crc % SLOTS;
}

/** A hash tag whose keys lie in a slot. */
export function tagOf(slot: number): string {
  for (let number = 0; ; number += 1) if (slotOf(String(number)) === slot) return String(number);
}
