/** The last step of the token endpoint: a new session, live in Redis before its token leaves the house. */
import type { Redis } from 'ioredis';
import type { AccessKey, StoreAccess } from '#shared/access/access-keys.ts';
import { encodeGrant, execute, setVersioned } from '#shared/access/grants.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { newSessionId } from '#shared/access/sessions.ts';
import type { Tokens } from '#shared/access/tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import { publishBlocking } from '../access/live-access.ts';
import type { Passage } from '../access/redis-gate.ts';
import type { Published } from './published.ts';

export interface Issuer {
  redis: Redis;
  tokens: Tokens;
  prefix: string;
  lifetimeSeconds: number;
  published: Published;
}

/** The token response of SPEC section 2. */
export interface TokenResponse {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
}

/**
 * Issues a token. With the first session of a key go the grant and the store's blocking, as MongoDB has them, so that
 * Redis knows both; versions keep them from overtaking a change that comes at the same moment.
 */
export async function issueToken(
  issuer: Issuer,
  passage: Passage,
  key: AccessKey,
  store: StoreAccess | null,
  scopes: Scope[],
): Promise<TokenResponse> {
  const { _id: clientId, environment, store_id: storeId } = key;
  const sessionId = newSessionId();
  const storing = storeSession(issuer, passage, sessionId, key, store);
  const { tokens, lifetimeSeconds } = issuer;
  const [token] = await Promise.all([
    tokens.issue({ sessionId, clientId, storeId, environment, scopes }),
    storing,
  ]);
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    scope: scopes.join(' '),
  };
}

async function storeSession(
  { redis, prefix, lifetimeSeconds, published }: Issuer,
  passage: Passage,
  sessionId: string,
  key: AccessKey,
  store: StoreAccess | null,
): Promise<void> {
  const { _id: clientId, environment, store_id: storeId } = key;
  const keys = redisKeys(prefix, environment, storeId);
  const session = keys.session(sessionId);
  const grant = keys.grant(clientId);
  const storeVersion = store?.version ?? 0;
  if (published.has(passage, grant, key.version) && published.has(passage, keys.storeAccess, storeVersion)) {
    await redis.set(session, clientId, 'EX', lifetimeSeconds);
    return;
  }
  const multi = redis.multi().set(session, clientId, 'EX', lifetimeSeconds);
  setVersioned(multi, grant, key.version, encodeGrant(key));
  publishBlocking(multi, prefix, environment, storeId, store);
  await execute(multi);
  published.note(passage, grant, key.version);
  published.note(passage, keys.storeAccess, storeVersion);
}
