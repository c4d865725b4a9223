/**
 * What a verified token may do at this moment. Session, grant, blocking and quota come in one round trip to Redis; a
 * grant that Redis lost is loaded from MongoDB and put back.
 */
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { type ControlCollections, storeAccessId } from '#shared/access/access-keys.ts';
import { decodeGrant, type Grant, publishAll, publishedState, publishKey } from '#shared/access/grants.ts';
import { type Counted, type Quota, type QuotaState, quotaState } from './quota.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { decodeStoreState, type StoreState, storeStateOf } from '#shared/access/store-state.ts';
import type { TokenClaims } from '../token/access-tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { Bounded } from '../deadline.ts';

export interface LiveAccess {
  /** The scopes that token and key both have. */
  scopes: Scope[];
  /** As it stands after the request was counted. */
  quota: QuotaState;
}

/** Why a token that is ours no longer counts. */
export type EndReason = 'session_ended' | 'key_not_active' | 'store_blocked';

export interface LiveAccessSources {
  redis: Redis;
  quota: Quota;
  control: ControlCollections;
  prefix: string;
  passed: SessionCache;
}

/** Sessions that passed when they were last looked at, with the seconds of their store's quota window. */
export type SessionCache = LRUCache<string, number>;

const CACHED_SESSIONS = 20_000;

/** Makes the cache of sessions that passed. It decides nothing: only whether to count before it is known who asks. */
export function createSessionCache(): SessionCache {
  return new LRUCache({ max: CACHED_SESSIONS });
}

/**
 * Decides about a token, and counts its request where it passes; says why when the token no longer counts.
 *
 * Whoever passed the last time is counted in the same round trip, and in the rare case that they don't pass any
 * more, given back. Anyone else is counted only once it is known that they pass: otherwise a client that goes on with a revoked
 * token would, for moments, use up its store's quota.
 * @throws when Redis, or MongoDB where it is needed, is away: an outage is neither a yes nor a no.
 */
export async function lookUpAccess(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
): Promise<LiveAccess | EndReason> {
  const { redis, quota, prefix, passed } = sources;
  const { environment, storeId, clientId, sessionId } = claims;
  const keys = redisKeys(prefix, environment, storeId);
  const window = passed.get(sessionId);
  const [session, grants, states, early] = await Promise.all([
    redis.get(keys.session(sessionId)),
    redis.zrange(keys.grant(clientId), '0', '0', 'REV'),
    redis.zrange(keys.storeAccess, '0', '0', 'REV'),
    window === undefined ? null : quota.count(environment, storeId, window),
  ]);
  const found = await decide(sources, claims, bounded, { session, grant: grants[0], state: states[0] });
  if (typeof found === 'object') {
    const { scopes, store } = found;
    return { scopes, quota: await countFor(sources, claims, store, early) };
  }
  passed.delete(sessionId);
  if (early !== null) await quota.giveBack(early);
  return found;
}

/**
 * Decides about a token whose request was counted before: the scopes that it has now, or why it no longer counts.
 * @throws as `lookUpAccess`.
 */
export async function lookAtAccess(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
): Promise<readonly Scope[] | EndReason> {
  const { redis, prefix } = sources;
  const keys = redisKeys(prefix, claims.environment, claims.storeId);
  const [session, grants, states] = await Promise.all([
    redis.get(keys.session(claims.sessionId)),
    redis.zrange(keys.grant(claims.clientId), '0', '0', 'REV'),
    redis.zrange(keys.storeAccess, '0', '0', 'REV'),
  ]);
  const found = await decide(sources, claims, bounded, { session, grant: grants[0], state: states[0] });
  return typeof found === 'object' ? found.scopes : found;
}

/** What Redis has of a session, its key's grant and its store's state. */
interface InRedis {
  session: string | null;
  grant: string | undefined;
  state: string | undefined;
}

async function decide(
  sources: LiveAccessSources,
  claims: TokenClaims,
  bounded: Bounded,
  { session, grant: grantText, state }: InRedis,
): Promise<{ scopes: Scope[]; store: StoreState } | EndReason> {
  if (session !== claims.clientId) return 'session_ended';
  const [grant, store] = await Promise.all([
    decodeGrant(grantText) ?? loadGrant(sources, claims, bounded),
    decodeStoreState(state) ?? loadStoreState(sources, claims, bounded),
  ]);
  if (store.blocked) return 'store_blocked';
  if (grant?.status !== 'active') return 'key_not_active';
  return { scopes: grant.scopes.filter((scope) => claims.scopes.includes(scope)), store };
}

/** Counts a request that passes, unless it was counted already, in the window that their store has now. */
async function countFor(
  { quota, passed }: LiveAccessSources,
  { environment, storeId, sessionId }: TokenClaims,
  store: StoreState,
  early: Counted | null,
): Promise<QuotaState> {
  const policy = quota.policyOf(store.quota);
  if (early?.windowSeconds === policy.windowSeconds) {
    return quotaState(early, policy);
  }
  const [counted] = await Promise.all([
    quota.count(environment, storeId, policy.windowSeconds),
    early === null ? null : quota.giveBack(early),
  ]);
  passed.set(sessionId, policy.windowSeconds);
  return quotaState(counted, policy);
}

async function loadGrant(
  { redis, control, prefix }: LiveAccessSources,
  { clientId, environment, storeId }: TokenClaims,
  bounded: Bounded,
): Promise<Grant | null> {
  const filter = { _id: clientId, environment, store_id: storeId };
  const key = await bounded((signal) => control.keys.findOne(filter, { signal }));
  if (key === null) return null;
  await publishKey(redis, prefix, key);
  return key;
}

async function loadStoreState(
  { redis, control, prefix }: LiveAccessSources,
  { environment, storeId }: TokenClaims,
  bounded: Bounded,
): Promise<StoreState> {
  const filter = { _id: storeAccessId(environment, storeId) };
  const store = await bounded((signal) => control.stores.findOne(filter, { signal }));
  await publishAll(redis, [publishedState(prefix, environment, storeId, store)]);
  return storeStateOf(store);
}
