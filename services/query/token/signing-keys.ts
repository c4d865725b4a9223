/** The keys that sign tokens, ready for use. They rotate without a gap: which one signs is a matter of time. */
import { readFile } from 'node:fs/promises';
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type CryptoKey, importJWK } from 'jose';
import type { Config } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';
import {
  parseKeySet,
  SIGNING_ALGORITHM,
  signingIndex,
  type SigningJwk,
} from '#shared/access/signing-key-set.ts';

export interface SigningKeys {
  /** The key that signs at this moment. */
  readonly signing: { readonly kid: string; readonly key: KeyObject };
  /** By `kid`. Another map when the keys were replaced. */
  readonly verifying: ReadonlyMap<string, CryptoKey>;
}

/**
 * Loads the keys that the configuration names.
 * @throws {StoreDataError} `config_invalid` when there are none or they are no JWK set of private ES256 keys.
 */
export async function loadSigningKeys(settings: Config['tokens']): Promise<SigningKeys> {
  const { signingKeys, signingKeysFile } = settings;
  if (signingKeys !== null) return importKeys(signingKeys, 'SIGNING_KEYS');
  if (signingKeysFile === null) {
    throw new StoreDataError(
      'config_invalid',
      'no signing keys: set SIGNING_KEYS_FILE to a file, which "store-data prepare" makes, or SIGNING_KEYS to a JWK set, with private ES256 keys',
    );
  }
  return importKeys(await readKeyFile(signingKeysFile), 'SIGNING_KEYS_FILE');
}

/** Reads the file of keys. @throws {StoreDataError} `config_invalid`, naming the file. */
export async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StoreDataError('config_invalid', `SIGNING_KEYS_FILE cannot be read: ${file}`, { cause: error });
  }
}

/** Makes the keys of a set's text. @throws {StoreDataError} `config_invalid`, without quoting a key. */
export async function importKeys(text: string, origin: string): Promise<SigningKeys> {
  const jwks = await parseKeySet(text, origin);
  const verifying = new Map<string, CryptoKey>();
  const keys: { kid: string; key: KeyObject; nbf?: number }[] = [];
  for (const [index, jwk] of jwks.entries()) {
    const { nbf, kid } = jwk;
    try {
      const { d: _secret, ...publicJwk } = jwk;
      const publicKey = await importJWK({ ...publicJwk, key_ops: ['verify'] }, SIGNING_ALGORITHM);
      verifying.set(kid, publicKey as CryptoKey);
      keys.push({ kid, key: privateKeyOf(jwk), ...(nbf === undefined ? {} : { nbf }) });
    } catch {
      // The cause would quote the key.
      throw new StoreDataError('config_invalid', `${origin} key ${index + 1} cannot be imported`);
    }
  }
  return {
    get signing() {
      const key = keys[signingIndex(keys, Date.now())];
      if (key === undefined) throw new Error('the set of keys is empty');
      return key;
    },
    verifying,
  };
}

/** @throws when the private part is not that of the public one. */
function privateKeyOf({ crv, kty, x, y, d }: SigningJwk): KeyObject {
  const key = { crv, kty, x, y } as Record<string, string>;
  const privateKey = createPrivateKey({ key: { ...key, d }, format: 'jwk' });
  const data = Buffer.from('signed to see whether both parts belong together');
  const signature = sign('sha256', data, privateKey);
  if (!verify('sha256', data, createPublicKey({ key, format: 'jwk' }), signature)) {
    throw new Error('the parts of the key do not belong together');
  }
  return privateKey;
}
