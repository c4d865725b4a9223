/** Access tokens: JWTs after RFC 9068 (`at+jwt`), verified with jose. */
import { type KeyObject, sign } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '#shared/config.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import { hasLowerS, joseSignature } from './p256-signature.ts';
import { SIGNING_ALGORITHM } from '#shared/access/signing-key-set.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What a token says. It stays true while the token lives; whether it still counts is decided for every request. */
export interface TokenClaims {
  sessionId: string;
  clientId: string;
  storeId: string;
  environment: string;
  scopes: Scope[];
  /** Seconds since 1970. */
  expiresAt: number;
}

export interface Tokens {
  issue: (claims: Omit<TokenClaims, 'expiresAt'>) => Promise<string>;
  /** The claims of a token that is ours and has not expired, else `null`. */
  verify: (token: string) => Promise<TokenClaims | null>;
}

/** Longer ones are not ours; they are not even looked at. */
const MAX_TOKEN_LENGTH = 4_096;
/** The longest lifetime that can be configured, and the second that rounding adds. */
const LONGEST_LIFETIME_SECONDS = 86_400 + 1;
/** Verified tokens in the cache: about 1 KiB each. */
const CACHED_TOKENS = 20_000;

/** Makes the issuing and verifying of tokens. `keys` is asked each time, so that keys can be replaced while running. */
export function createTokens(keys: () => SigningKeys, settings: Config['tokens']): Tokens {
  const cache = new LRUCache<string, TokenClaims>({ max: CACHED_TOKENS });
  let verifiedWith = keys().verifying;
  return {
    async issue({ sessionId, clientId, storeId, environment, scopes }) {
      const { kid, key } = keys().signing;
      const now = Date.now() / 1_000;
      const payload = {
        client_id: clientId,
        store_id: storeId,
        environment,
        scope: scopes.join(' '),
        iss: settings.issuer,
        aud: settings.audience,
        sub: clientId,
        jti: sessionId,
        iat: Math.floor(now),
        // Rounded up: cut, a token would expire before the time that its client was told. The session in Redis ends it to the second.
        exp: Math.ceil(now) + settings.lifetimeSeconds,
      };
      return signJwt({ alg: SIGNING_ALGORITHM, typ: 'at+jwt', kid }, payload, key);
    },
    async verify(token) {
      const current = keys();
      // A token of a key that is gone does not count any longer.
      if (current.verifying !== verifiedWith) cache.clear();
      verifiedWith = current.verifying;
      const known = cache.get(token);
      if (known !== undefined) {
        if (known.expiresAt > Date.now() / 1_000) return known;
        cache.delete(token);
        return null;
      }
      if (token.length > MAX_TOKEN_LENGTH || !isCanonical(token)) return null;
      const claims = await verifySignature(token, current, settings);
      if (claims !== null && current.verifying === verifiedWith) cache.set(token, claims);
      return claims;
    },
  };
}

/**
 * Signs a JWT (RFC 7515 section 7.1) with Node's own signing, which takes a third of what the Web Crypto API takes, and
 * with it jose (decision 0021).
 */
function signJwt(header: object, payload: object, key: KeyObject): string {
  const data = `${encode(header)}.${encode(payload)}`;
  const signature = joseSignature(sign('sha256', Buffer.from(data), key));
  return `${data}.${signature.toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/**
 * Whether a token is the one spelling of what it says. jose, like most, also takes other base64url forms of the same bytes (a
 * changed last character, say, whose low bits no byte uses), and the other signature that follows from one.
 */
function isCanonical(token: string): boolean {
  const parts = token.split('.');
  const [header, payload, signature] = parts.map((part) => Buffer.from(part, 'base64url'));
  return (
    parts.length === 3 &&
    [header, payload, signature].every((bytes, index) => bytes?.toString('base64url') === parts[index]) &&
    signature !== undefined &&
    hasLowerS(signature)
  );
}

async function verifySignature(
  token: string,
  { verifying }: SigningKeys,
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
        requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id', 'store_id', 'environment', 'scope'],
      },
    );
    const { jti, sub, iat, exp, client_id: clientId, store_id: storeId, environment, scope } = payload;
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
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof SyntaxError)
      return null;
    throw error;
  }
}

/** Whether a token could have been issued to live that long: milliseconds, say, would let it live for ever. */
function isLifetime(issuedAt: unknown, expiresAt: unknown): boolean {
  if (!Number.isSafeInteger(issuedAt) || !Number.isSafeInteger(expiresAt)) return false;
  const seconds = Number(expiresAt) - Number(issuedAt);
  return seconds > 0 && seconds <= LONGEST_LIFETIME_SECONDS;
}
