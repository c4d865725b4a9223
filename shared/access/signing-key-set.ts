/**
 * The keys that sign tokens: an ordered JWK set. All verify; the first whose `nbf` has passed
 * signs.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { commandInvalid, hasCode, StoreDataError } from '../errors.ts';

/** ECDSA on P-256 with SHA-256 (RFC 7518 section 3.4). */
export const SIGNING_ALGORITHM = 'ES256';

/** A private key. It signs from `nbf` on, in seconds since 1970; without `nbf` always. */
export interface SigningJwk extends JWK {
  kid: string;
  d: string;
  nbf?: number;
}

/** Makes a new private key, its `kid` the thumbprint (RFC 7638). */
export async function newSigningKey(): Promise<SigningJwk> {
  for (;;) {
    const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
    const jwk = await exportJWK(privateKey);
    const kid = await calculateJwkThumbprint(jwk);
    // One in 64 begins with a hyphen, which a command would read as an option.
    if (!kid.startsWith('-'))
      return { ...jwk, d: jwk.d ?? '', kid, alg: SIGNING_ALGORITHM, use: 'sig' };
  }
}

export function printKeySet(keys: readonly SigningJwk[]): string {
  return `${JSON.stringify({ keys })}\n`;
}

/** The mode of a file with keys. */
export const OWNER_ONLY = 0o600;

/**
 * Makes the file with one new key, for its owner alone, unless it exists.
 * @returns whether it was made.
 */
export async function createSigningKeys(file: string): Promise<boolean> {
  const text = printKeySet([await newSigningKey()]);
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode: OWNER_ONLY, flag: 'wx' });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw commandInvalid(`the file of signing keys cannot be written: ${file}`, error);
  }
}

/**
 * @param origin names the text in messages, none of which quotes a key.
 * @throws {StoreDataError} `config_invalid`.
 */
export async function parseKeySet(text: string, origin: string): Promise<SigningJwk[]> {
  const wrong = (what: string) => new StoreDataError('config_invalid', `${origin} ${what}`);
  const jwks = keysIn(text);
  if (jwks === null || jwks.length === 0)
    throw wrong('is not a JWK set {"keys":[…]} with at least one key');
  const set: SigningJwk[] = [];
  for (const [index, jwk] of jwks.entries()) {
    const { d, nbf } = jwk;
    if (jwk.kty !== 'EC' || jwk.crv !== 'P-256' || typeof d !== 'string') {
      throw wrong(`key ${index + 1} is not a private P-256 key`);
    }
    if (nbf !== undefined && !(typeof nbf === 'number' && Number.isFinite(nbf))) {
      throw wrong(`key ${index + 1} has an nbf that is not a time in seconds`);
    }
    const kid = jwk.kid ?? (await calculateJwkThumbprint(jwk));
    if (typeof kid !== 'string' || set.some((other) => other.kid === kid)) {
      throw wrong(`key ${index + 1} has no kid of its own`);
    }
    const { nbf: _time, ...rest } = jwk;
    set.push({ ...rest, d, kid, ...(nbf !== undefined && { nbf }) });
  }
  return set;
}

/**
 * The index of the key that signs: the first whose `nbf` has passed, else the one with the earliest
 * `nbf`.
 */
export function signingIndex(keys: readonly Pick<SigningJwk, 'nbf'>[], now: number): number {
  const times = keys.map(({ nbf = 0 }) => nbf * 1_000);
  const first = times.findIndex((time) => time <= now);
  return first === -1 ? times.indexOf(Math.min(...times)) : first;
}

function keysIn(text: string): (JWK & { nbf?: unknown })[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || !('keys' in parsed)) return null;
    const { keys } = parsed;
    if (!Array.isArray(keys)) return null;
    return keys.every((key) => typeof key === 'object' && key !== null)
      ? (keys as (JWK & { nbf?: unknown })[])
      : null;
  } catch {
    // The cause would quote the text.
    return null;
  }
}
