/**
 * Requests of one token that arrive in one turn of the event loop are decided about together (decision 0027): what they
 * ask Redis is the same, it is asked after all of them arrived, and each is counted.
 */
import type { QuotaState } from './quota.ts';
import type { TokenClaims } from '../token/access-tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { RedisConnection } from '#shared/redis-connection.ts';
import type { Bounded } from '../deadline.ts';
import {
  type EndReason,
  type LiveAccess,
  type LiveAccessSources,
  lookAtAccess,
  lookUpAccess,
} from './live-access.ts';

/** What one request may do, with the quota as it stands after it was counted. */
export interface Decision {
  scopes: readonly Scope[];
  quota: QuotaState;
}

interface Group {
  requests: number;
  decided: Promise<LiveAccess | EndReason>;
}

/** Decides about one request, until its deadline. It fails as `lookUpAccess` does. */
export type LookUp = (claims: TokenClaims, bounded: Bounded) => Promise<Decision | EndReason>;

/** Makes the look-up of single requests. Those that share one have, within a turn, the same deadline: that of the first. */
export function shareLookUps(redis: RedisConnection, sources: LiveAccessSources): LookUp {
  // A verified token is remembered with its claims, so requests of one token bring the same object.
  const groups = new Map<TokenClaims, Group>();
  const begin = (claims: TokenClaims, bounded: Bounded): Group => {
    const { promise, resolve } = Promise.withResolvers<LiveAccess | EndReason>();
    const group: Group = { requests: 0, decided: promise };
    groups.set(claims, group);
    redis.beforeTurnEnds(() => {
      groups.delete(claims);
      resolve(lookUpAccess(sources, claims, bounded, group.requests));
    });
    return group;
  };
  return async (claims, bounded) => {
    const group = groups.get(claims) ?? begin(claims, bounded);
    const position = group.requests;
    group.requests += 1;
    const live = await group.decided;
    return typeof live === 'string' ? live : { scopes: live.scopes, quota: live.quotaOf(position) };
  };
}

/** Looks again at one that was counted before. It fails as `lookAtAccess` does. */
export type Look = (claims: TokenClaims, bounded: Bounded) => Promise<readonly Scope[] | EndReason>;

/** Makes the look at requests that were held: thousands of one token may end in the same turn. */
export function shareLooks(redis: RedisConnection, sources: LiveAccessSources): Look {
  const underWay = new Map<TokenClaims, ReturnType<Look>>();
  return (claims, bounded) => {
    const known = underWay.get(claims);
    if (known !== undefined) return known;
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Look>>>();
    underWay.set(claims, promise);
    redis.beforeTurnEnds(() => {
      underWay.delete(claims);
      resolve(lookAtAccess(sources, claims, bounded));
    });
    return promise;
  };
}
