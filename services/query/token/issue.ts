/** The last step of the token endpoint: a new session, live in Redis before its token leaves the house. */
import type { Redis } from 'ioredis';
import { execute, setVersioned } from '#shared/access/grants.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { newSessionId } from '#shared/access/sessions.ts';
import type { Tokens } from './access-tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { KnownClient } from './known-clients.ts';

export interface Issuer {
  redis: Redis;
  tokens: Tokens;
  prefix: string;
  lifetimeSeconds: number;
}

/** The token response of rule R4.2. */
export interface TokenResponse {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
}

/**
 * Issues a token to a client that MongoDB was asked about. With the session go the grant and the store's state, so that
 * Redis knows both; versions keep them from overtaking a change that comes at the same moment.
 */
export async function issueToken(
  issuer: Issuer,
  client: KnownClient,
  scopes: Scope[],
): Promise<TokenResponse> {
  const { redis, lifetimeSeconds } = issuer;
  const session = newSession(issuer, client);
  const multi = redis.multi().set(session.redisKey, client.key._id, 'EX', lifetimeSeconds);
  for (const { redisKey, version, member } of [client.grant, client.state]) {
    setVersioned(multi, redisKey, version, member);
  }
  const [response] = await Promise.all([sign(issuer, client, session.id, scopes), execute(multi)]);
  return response;
}

/**
 * Issues a token to a client whose grant is in Redis already. Whoever asks Redis for more in the same turn has it all in
 * one round trip.
 */
export async function issueKnown(
  issuer: Issuer,
  client: KnownClient,
  scopes: Scope[],
): Promise<TokenResponse> {
  const { redis, lifetimeSeconds } = issuer;
  const session = newSession(issuer, client);
  const storing = redis.set(session.redisKey, client.key._id, 'EX', lifetimeSeconds);
  const [response] = await Promise.all([sign(issuer, client, session.id, scopes), storing]);
  return response;
}

function newSession({ prefix }: Issuer, { key }: KnownClient): { id: string; redisKey: string } {
  const id = newSessionId();
  return { id, redisKey: redisKeys(prefix, key.environment, key.store_id).session(id) };
}

async function sign(
  { tokens, lifetimeSeconds }: Issuer,
  { key: { _id: clientId, store_id: storeId, environment } }: KnownClient,
  sessionId: string,
  scopes: Scope[],
): Promise<TokenResponse> {
  return {
    access_token: await tokens.issue({ sessionId, clientId, storeId, environment, scopes }),
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
    scope: scopes.join(' '),
  };
}
