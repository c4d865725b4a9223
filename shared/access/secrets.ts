/** Client ids and secrets: how they are made, hashed and compared. */
import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

export function newClientId(): string {
  return randomText(24);
}

const SECRET_PREFIX = 'storedata';
const CHECKSUM_LENGTH = 6;

export function newClientSecret(): string {
  return clientSecretOf(randomText(43));
}

/**
 * A client secret: a prefix, 43 letters and digits, and their checksum; secret scanners recognise
 * it.
 */
export function clientSecretOf(random: string): string {
  return `${SECRET_PREFIX}${random}${checksumOf(random)}`;
}

/** CRC-32 in base 62, its digits in the order of the alphabet. */
function checksumOf(text: string): string {
  let digits = '';
  for (
    let rest = crc32(text);
    digits.length < CHECKSUM_LENGTH;
    rest = Math.floor(rest / ALPHABET.length)
  ) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
  }
  return digits;
}

/**
 * SHA-256 of a secret in lower-case hex. Enough for random secrets; a slow hash would be a lever
 * for floods.
 */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const DECOY = hashSecret(newClientSecret());

/** Compares a secret with two hashes in constant time: the time reveals nothing about a key. */
export function secretMatches(secret: string, hashes: readonly string[]): boolean {
  const given = hash('sha256', secret, 'buffer');
  let matches = false;
  for (const index of [0, 1]) {
    const known = hashes[index];
    const equal = timingSafeEqual(given, Buffer.from(known ?? DECOY, 'hex'));
    if (equal && known !== undefined) matches = true;
  }
  return matches;
}
