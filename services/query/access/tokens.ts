/**
 * Access tokens (JWTs by RFC 9068, `at+jwt`) and the keys that sign them. Keys rotate without a
 * gap: their times say which one signs. The file of keys is read every second and compared by
 * content: so a renamed file and a swapped link of Kubernetes are both noticed.
 */
import { errors, jwtVerify, SignJWT, type CryptoKey, importJWK, type JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '#shared/config.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import { SIGNING_ALGORITHM, parseKeySet, signingIndex } from '#shared/access/signing-key-set.ts';
import { readFile } from 'node:fs/promises';
import { describeError, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';

/** The client of a key, and what it may read. */
export interface Client {
  clientId: string;
  storeId: string;
  environment: string;
  scopes: readonly Scope[];
}

/** The claims of a token. Whether it still counts is decided for every request. */
export interface TokenClaims extends Client {
  sessionId: string;
  /** Seconds since 1970. */
  expiresAt: number;
}

export type Tokens = ReturnType<typeof createTokens>;

/** Longer tokens are not ours. */
const MAX_TOKEN_LENGTH = 4_096;
/** The longest lifetime that can be configured, and the second that rounding adds. */
const MAX_LIFETIME_SECONDS = 86_400 + 1;
/** Verified tokens in the cache: about 1 KiB each. */
const CACHED_TOKENS = 20_000;

/** Issues and verifies tokens. @param keys may change at any time. */
export function createTokens(keys: SigningKeys, settings: Config['tokens']) {
  const cache = new LRUCache<string, TokenClaims>({ max: CACHED_TOKENS });
  /** The keys that verified claims: they may be replaced later. */
  const verifiedBy = new WeakMap<TokenClaims, SigningKeys['verifying']>();
  return {
    /**
     * The claims of a token that passed before, even if it has expired since. Decides nothing about
     * access.
     */
    verifiedBefore: (token: string) => cache.get(token),
    /**
     * Called when a verified token passes. One that Redis refuses is forgotten: it must not take a
     * place in its store's share.
     */
    remember: (token: string, claims: TokenClaims) => void cache.set(token, claims),
    forget: (token: string) => void cache.delete(token),
    async issue(claims: Omit<TokenClaims, 'expiresAt'>) {
      const { kid, key } = keys.signing;
      const now = Date.now() / 1_000;
      const payload = {
        client_id: claims.clientId,
        store_id: claims.storeId,
        environment: claims.environment,
        scope: claims.scopes.join(' '),
        iss: settings.issuer,
        aud: settings.audience,
        sub: claims.clientId,
        jti: claims.sessionId,
        iat: Math.floor(now),
        // Rounded up: rounded down, a token would expire before its `expires_in`. The session in
        // Redis ends it to the second.
        exp: Math.ceil(now) + settings.lifetimeSeconds,
      };
      const header = { alg: SIGNING_ALGORITHM, typ: 'at+jwt', kid };
      return new SignJWT(payload).setProtectedHeader(header).sign(key);
    },
    async verify(token: string): Promise<TokenClaims | null> {
      const { verifying } = keys;
      const known = cache.get(token);
      if (known !== undefined) {
        // Tokens of a removed key are invalid.
        const isCurrent = verifiedBy.get(known) === verifying;
        if (isCurrent && known.expiresAt > Date.now() / 1_000) return known;
        cache.delete(token);
      }
      if (token.length > MAX_TOKEN_LENGTH || !isCanonical(token)) return null;
      const claims = await verifySignature(token, verifying, settings);
      if (claims !== null) verifiedBy.set(claims, verifying);
      return claims;
    },
  };
}

/** Rejects non-canonical base64url, which jose accepts: the last character has unused bits. */
function isCanonical(token: string): boolean {
  return token
    .split('.')
    .every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

async function verifySignature(
  token: string,
  verifying: SigningKeys['verifying'],
  settings: Config['tokens'],
): Promise<TokenClaims | null> {
  try {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = kid === undefined ? undefined : verifying.get(kid);
        if (key === undefined) throw new errors.JWKSNoMatchingKey();
        return key;
      },
      {
        algorithms: [SIGNING_ALGORITHM],
        typ: 'at+jwt',
        issuer: settings.issuer,
        audience: settings.audience,
      },
    );
    const { jti, sub, iat, exp, environment, scope } = payload;
    const { client_id: clientId, store_id: storeId } = payload;
    if (
      typeof jti !== 'string' ||
      typeof clientId !== 'string' ||
      sub !== clientId ||
      typeof storeId !== 'string' ||
      typeof environment !== 'string' ||
      typeof scope !== 'string' ||
      !isLifetime(iat, exp)
    ) {
      return null;
    }
    const granted = scope.split(' ');
    return {
      sessionId: jti,
      clientId,
      storeId,
      environment,
      scopes: SCOPES.filter((name) => granted.includes(name)),
      expiresAt: Number(exp),
    };
  } catch (error) {
    if (
      error instanceof errors.JOSEError ||
      error instanceof TypeError ||
      error instanceof SyntaxError
    )
      return null;
    throw error;
  }
}

/** Rejects lifetimes that we never issue. A token with times in milliseconds would never expire. */
function isLifetime(issuedAt: unknown, expiresAt: unknown): boolean {
  if (!Number.isSafeInteger(issuedAt) || !Number.isSafeInteger(expiresAt)) return false;
  const seconds = Number(expiresAt) - Number(issuedAt);
  return seconds > 0 && seconds <= MAX_LIFETIME_SECONDS;
}

export interface SigningKeys {
  /** The key that signs at this moment. */
  readonly signing: { readonly kid: string; readonly key: CryptoKey };
  /** By `kid`. Another map when the keys were replaced. */
  readonly verifying: ReadonlyMap<string, CryptoKey>;
  /** False while the file is broken and the previous keys stay in use. */
  readonly isCurrent: boolean;
}

/**
 * @throws {StoreDataError} `config_invalid` when there are none or they are no JWK set of private
 * ES256 keys.
 */
export async function loadSigningKeys(settings: Config['tokens']): Promise<SigningKeys> {
  return importKeys(await readKeySet(settings), settings);
}

async function readKeySet({
  signingKeys,
  signingKeysFile: file,
}: Config['tokens']): Promise<string> {
  if (file !== null) {
    return readFile(file, 'utf8').catch((cause: unknown) => {
      throw new StoreDataError('config_invalid', `SIGNING_KEYS_FILE cannot be read: ${file}`, {
        cause,
      });
    });
  }
  if (signingKeys !== null) return signingKeys;
  throw new StoreDataError(
    'config_invalid',
    'no signing keys: set SIGNING_KEYS_FILE to a file, which "store-data prepare" makes, ' +
      'or SIGNING_KEYS to a JWK set, with private ES256 keys',
  );
}

/** @throws {StoreDataError} `config_invalid`, without quoting a key. */
async function importKeys(
  text: string,
  { signingKeysFile }: Config['tokens'],
): Promise<SigningKeys> {
  const origin = signingKeysFile === null ? 'SIGNING_KEYS' : 'SIGNING_KEYS_FILE';
  const verifying = new Map<string, CryptoKey>();
  const keys: { kid: string; key: CryptoKey; nbf: number }[] = [];
  for (const [index, { d, ...jwk }] of (await parseKeySet(text, origin)).entries()) {
    const { kty, crv, x, y, kid, nbf = 0 } = jwk;
    const imported = (key: JWK) => importJWK(key, SIGNING_ALGORITHM) as Promise<CryptoKey>;
    try {
      verifying.set(kid, await imported({ ...jwk, key_ops: ['verify'] }));
      // Throws if the private part does not belong to the public one.
      keys.push({ kid, nbf, key: await imported({ kty, crv, x, y, d } as JWK) });
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
    isCurrent: true,
  };
}

/**
 * A key signs long after every service has seen it: `MIN_ACTIVATION_MS` in the command that makes
 * it.
 */
const RELOAD_MS = 1_000;

export type WatchedKeys = Awaited<ReturnType<typeof watchSigningKeys>>;

/**
 * Loads the keys and follows their file.
 * @throws {StoreDataError} `config_invalid` if there are none at the start.
 */
export async function watchSigningKeys(
  settings: Config['tokens'],
  logger: Logger,
  everyMs = RELOAD_MS,
) {
  let text = await readKeySet(settings);
  let keys = await importKeys(text, settings);
  let failure: { description: string; logged: boolean } | null = null;

  const reload = async (stopped: AbortSignal) => {
    try {
      const found = await readKeySet(settings);
      if (found === text && failure === null) return;
      if (found !== text) keys = await importKeys(found, settings);
      text = found;
      failure = null;
      logger.info(
        { kids: [...keys.verifying.keys()], signs: keys.signing.kid },
        'signing keys read again',
      );
    } catch (error) {
      const description = describeError(error);
      // Logged once, when it is seen twice: a file may be read while it is being written.
      if (failure?.description !== description) failure = { description, logged: false };
      else if (!failure.logged && !stopped.aborted) {
        failure.logged = true;
        logger.error(
          { error: description },
          'signing keys cannot be read again: the previous keys stay in use',
        );
      }
    }
  };
  const work = { run: reload, everyMs };
  const reloading = settings.signingKeysFile === null ? null : startPeriodicTask(work, everyMs);

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
