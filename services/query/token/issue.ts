/** The last step of the token endpoint: a new session, live in Redis before its token leaves the house. */
import type { Redis } from 'ioredis';
import type { AccessKey, StoreAccess } from '#shared/access/access-keys.ts';
import { encodeGrant, execute, setVersioned } from '#shared/access/grants.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { newSessionId } from '#shared/access/sessions.ts';
import type { Tokens } from '#shared/access/tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { publishBlocking } from '../access/live-access.ts';

export interface Issuer {
  redis: Redis;
  tokens: Tokens;
  prefix: string;
  lifetimeSeconds: number;
}

/** The token response of SPEC section 2. */
export interface TokenResponse {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
}

/**
 * Issues a token. With the session go the grant and the store's blocking, as MongoDB has them, so that Redis
 * always knows both; versions keep them from overtaking a change that comes at the same moment.
 */
export async function issueToken(
  { redis, tokens, prefix, lifetimeSeconds }: Issuer,
  key: AccessKey,
  store: StoreAccess | null,
  scopes: Scope[],
): Promise<TokenResponse> {
  const { _id: clientId, environment, store_id: storeId } = key;
  const sessionId = newSessionId();
  const keys = redisKeys(prefix, environment, storeId);
  const multi = redis.multi().set(keys.session(sessionId), clientId, 'EX', lifetimeSeconds);
  setVersioned(multi, keys.grant(clientId), key.version, encodeGrant(key));
  publishBlocking(multi, prefix, environment, storeId, store);
  const [token] = await Promise.all([
    tokens.issue({ sessionId, clientId, storeId, environment, scopes }),
    execute(multi),
  ]);
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    scope: scopes.join(' '),
  };
}
