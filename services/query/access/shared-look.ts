/** Held requests of one token that end in one turn of the event loop are looked at again together. */
import type { TokenClaims } from '../token/access-tokens.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { RedisConnection } from '#shared/redis-connection.ts';
import type { Bounded } from '../deadline.ts';
import { type EndReason, type LiveAccessSources, lookAtAccess } from './live-access.ts';

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
