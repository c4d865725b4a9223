/** The keys that sign tokens: an ordered set of which the first signs and all verify, so that they rotate without a gap. */
import { readFile } from 'node:fs/promises';
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import type { Config } from '../config.ts';
import { StoreDataError } from '../errors.ts';

/** ECDSA on P-256 with SHA-256 (RFC 7518 section 3.4). */
export const SIGNING_ALGORITHM = 'ES256';

export interface SigningKeys {
  signing: { kid: string; key: CryptoKey };
  /** By `kid`. */
  verifying: ReadonlyMap<string, CryptoKey>;
}

/** Makes a new private key as a JWK, its `kid` the thumbprint (RFC 7638). */
export async function newSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: SIGNING_ALGORITHM, use: 'sig' };
}

/**
 * Loads the keys that the configuration names.
 * @throws {StoreDataError} `config_invalid` when there are none or they are no JWK set of private ES256 keys.
 */
export async function loadSigningKeys({
  signingKeys,
  signingKeysFile,
}: Config['tokens']): Promise<SigningKeys> {
  if (signingKeys !== null) return readSigningKeys(signingKeys, 'SIGNING_KEYS');
  if (signingKeysFile === null) {
    throw new StoreDataError(
      'config_invalid',
      'no signing keys: set SIGNING_KEYS_FILE to a file, or SIGNING_KEYS to a JWK set, with private ES256 keys',
    );
  }
  let text: string;
  try {
    text = await readFile(signingKeysFile, 'utf8');
  } catch (error) {
    throw new StoreDataError('config_invalid', `SIGNING_KEYS_FILE cannot be read: ${signingKeysFile}`, {
      cause: error,
    });
  }
  return readSigningKeys(text, 'SIGNING_KEYS_FILE');
}

async function readSigningKeys(text: string, origin: string): Promise<SigningKeys> {
  const wrong = (what: string) => new StoreDataError('config_invalid', `${origin} ${what}`);
  const jwks = parseKeySet(text);
  if (jwks === null || jwks.length === 0) throw wrong('is no JWK set {"keys":[…]} with at least one key');
  const verifying = new Map<string, CryptoKey>();
  let signing: SigningKeys['signing'] | undefined;
  for (const [index, jwk] of jwks.entries()) {
    if (jwk.kty !== 'EC' || jwk.crv !== 'P-256' || typeof jwk.d !== 'string') {
      throw wrong(`key ${index + 1} is no private P-256 key`);
    }
    const kid = jwk.kid ?? (await calculateJwkThumbprint(jwk));
    if (verifying.has(kid)) throw wrong(`key ${index + 1} repeats a kid`);
    try {
      const { d: _secret, ...publicJwk } = jwk;
      verifying.set(
        kid,
        (await importJWK({ ...publicJwk, key_ops: ['verify'] }, SIGNING_ALGORITHM)) as CryptoKey,
      );
      signing ??= {
        kid,
        key: (await importJWK({ ...jwk, key_ops: ['sign'] }, SIGNING_ALGORITHM)) as CryptoKey,
      };
    } catch {
      // The cause would quote the key.
      throw wrong(`key ${index + 1} cannot be imported`);
    }
  }
  if (signing === undefined) throw wrong('has no key that signs');
  return { signing, verifying };
}

function parseKeySet(text: string): JWK[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || !('keys' in parsed) || !Array.isArray(parsed.keys))
      return null;
    return parsed.keys.every((key) => typeof key === 'object' && key !== null)
      ? (parsed.keys as JWK[])
      : null;
  } catch {
    return null;
  }
}
