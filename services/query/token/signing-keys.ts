/**
 * The keys that sign tokens, ready for use. They rotate without a gap: which one signs is a matter of time, and those of a file are read
 * again and again. The content is compared, not the file's dates: a file renamed over it, and the swapped links with which Kubernetes
 * brings a new secret, are seen alike.
 */
import { readFile } from 'node:fs/promises';
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type CryptoKey, importJWK } from 'jose';
import { Gauge, type Registry } from 'prom-client';
import type { Config } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
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
async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StoreDataError('config_invalid', `SIGNING_KEYS_FILE cannot be read: ${file}`, { cause: error });
  }
}

/** Makes the keys of a set's text. @throws {StoreDataError} `config_invalid`, without quoting a key. */
async function importKeys(text: string, origin: string): Promise<SigningKeys> {
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

/** A key signs long after every service has seen it: `MIN_ACTIVATION_MS` in the command that makes it. */
const RELOAD_MS = 1_000;

export interface WatchedKeys extends SigningKeys {
  /** Whether what the file holds is in use; false while it is broken, and the former keys go on. */
  readonly isCurrent: boolean;
  stop: () => Promise<void>;
}

/** Loads the keys, and follows their file. @throws {StoreDataError} `config_invalid` when there are none to begin with. */
export async function watchSigningKeys(
  settings: Config['tokens'],
  logger: Logger,
  intervalMs = RELOAD_MS,
): Promise<WatchedKeys> {
  const file = settings.signingKeysFile;
  let text = file === null ? null : await readKeyFile(file);
  let keys = text === null ? await loadSigningKeys(settings) : await importKeys(text, 'SIGNING_KEYS_FILE');
  let failure: { description: string; logged: boolean } | null = null;

  const reload = async (path: string, stopped: AbortSignal) => {
    try {
      const found = await readKeyFile(path);
      if (found === text && failure === null) return;
      if (found !== text) keys = await importKeys(found, 'SIGNING_KEYS_FILE');
      text = found;
      failure = null;
      logger.info({ kids: [...keys.verifying.keys()], signs: keys.signing.kid }, 'signing keys read again');
    } catch (error) {
      const description = describeError(error);
      // Seen twice, since a file may be read while it is written; and logged once for each failure.
      if (failure?.description !== description) failure = { description, logged: false };
      else if (!failure.logged && !stopped.aborted) {
        failure.logged = true;
        logger.error({ error: description }, 'signing keys cannot be read again, the former ones go on');
      }
    }
  };
  const reloading =
    file === null
      ? null
      : new PeriodicTask(
          { run: (stopped) => reload(file, stopped), everyMs: intervalMs, failed: () => undefined },
          intervalMs,
        );

  return {
    get signing() {
      return keys.signing;
    },
    get verifying() {
      return keys.verifying;
    },
    get isCurrent() {
      return failure === null;
    },
    stop: async () => reloading?.stop(),
  };
}

/** Shows in the metrics whether the file's keys are in use. */
export function measureSigningKeys(registry: Registry, keys: WatchedKeys): void {
  const gauge = new Gauge({
    name: 'store_data_signing_keys_current',
    help: '1 while the signing keys in use are those of their file, 0 while it is broken',
    registers: [],
    collect() {
      this.set(keys.isCurrent ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}
