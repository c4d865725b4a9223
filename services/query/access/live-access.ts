/**
 * What a verified token may do at this moment. Session, grant, blocking and quota come in one round trip to Redis; a
 * grant that Redis lost is loaded from MongoDB and put back.
 */
import type { Redis } from 'ioredis';
import {
  type ControlCollections,
  isBlocked,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import { decodeGrant, execute, type Grant, publishGrant, setVersioned } from '#shared/access/grants.ts';
import type { Quota, QuotaState } from '#shared/access/quota.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { TokenClaims } from '#shared/access/tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { Bounded } from '../deadline.ts';

export interface LiveAccess {
  /** The scopes that token and key both have; `null` when the token no longer counts. */
  scopes: Scope[] | null;
  /** As it stands after this request was counted. */
  quota: QuotaState;
}

export interface LiveAccessSources {
  redis: Redis;
  quota: Quota;
  control: ControlCollections;
  prefix: string;
}

/**
 * Decides about a token, and counts the request. A request whose token does not pass is taken off the count
 * again.
 * @throws when Redis, or MongoDB where it is needed, is away: an outage is neither a yes nor a no.
 */
export async function lookUpAccess(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
): Promise<LiveAccess> {
  const { redis, quota, prefix } = sources;
  const { environment, storeId, clientId, sessionId } = claims;
  const keys = redisKeys(prefix, environment, storeId);
  const [session, grants, blocking, state] = await Promise.all([
    redis.get(keys.session(sessionId)),
    redis.zrange(keys.grant(clientId), '0', '0', 'REV'),
    redis.zrange(keys.storeAccess, '0', '0', 'REV'),
    quota.count(environment, storeId),
  ]);
  let scopes: Scope[] | null = null;
  if (session === clientId) {
    const [grant, blocked] = await Promise.all([
      decodeGrant(grants[0]) ?? loadGrant(sources, claims, bounded),
      blocking[0] === undefined ? loadBlocking(sources, claims, bounded) : blocking[0] !== 'active',
    ]);
    if (grant?.status === 'active' && !blocked) {
      scopes = grant.scopes.filter((scope) => claims.scopes.includes(scope));
    }
  }
  if (scopes === null) await quota.giveBack(environment, storeId);
  return { scopes, quota: state };
}

async function loadGrant(
  { redis, control, prefix }: LiveAccessSources,
  { clientId, environment, storeId }: TokenClaims,
  bounded: Bounded,
): Promise<Grant | null> {
  const filter = { _id: clientId, environment, store_id: storeId };
  const key = await bounded((signal) => control.keys.findOne(filter, { signal }));
  if (key === null) return null;
  await publishGrant(redis, prefix, key);
  return key;
}

async function loadBlocking(
  { redis, control, prefix }: LiveAccessSources,
  { environment, storeId }: TokenClaims,
  bounded: Bounded,
): Promise<boolean> {
  const filter = { _id: storeAccessId(environment, storeId) };
  const store = await bounded((signal) => control.stores.findOne(filter, { signal }));
  await execute(publishBlocking(redis.multi(), prefix, environment, storeId, store));
  return isBlocked(store);
}

/**
 * Adds the writing of a store's blocking to a MULTI. A store about which nothing was said yet is noted as
 * active with version 0, which every real version overtakes.
 */
export function publishBlocking(
  multi: ReturnType<Redis['multi']>,
  prefix: string,
  environment: string,
  storeId: string,
  store: StoreAccess | null,
): ReturnType<Redis['multi']> {
  const key = redisKeys(prefix, environment, storeId).storeAccess;
  return setVersioned(multi, key, store?.version ?? 0, isBlocked(store) ? 'blocked' : 'active');
}
