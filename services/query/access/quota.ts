/**
 * The quota of a store in an environment, shared by all its tokens and all instances (rule R8.1).
 *
 * A window begins with its first request. It is counted under a name that holds the window's length, so that a
 * quota with another window begins to count at once, and no count ever has an end that does not belong to it.
 */
import type { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Config } from '#shared/config.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { StoreQuota } from '#shared/access/store-state.ts';

/** How many requests a store may make in a window. */
export interface QuotaPolicy {
  requests: number;
  windowSeconds: number;
}

export interface QuotaState {
  /** Whether this request is within the quota. */
  allowed: boolean;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Whole seconds after which the window has ended for sure, at least 1. */
  resetSeconds: number;
}

/** A request that was counted. */
export interface Counted {
  key: string;
  windowSeconds: number;
  /** Requests of this window, this one included. */
  consumed: number;
  /** Until the window ends. */
  milliseconds: number;
}

export interface Quota {
  /** The policy of a store: its own, or what the configuration says. */
  policyOf: (own: StoreQuota | null) => QuotaPolicy;
  /** Counts a request. @throws when Redis is away: that is an outage, never a refusal. */
  count: (environment: string, storeId: string, windowSeconds: number) => Promise<Counted>;
  /** Gives a request back, after it turned out that it should not have been counted. */
  giveBack: (counted: Counted) => Promise<void>;
}

/**
 * Takes a request off a count while the window still runs in which it was counted: the time that is left has only
 * become shorter since, and by less than a second. In a window that began later it would let one more than the
 * quota pass, and without a window leave a count without an end. Redis has no command that decrements on a condition.
 */
const GIVE_BACK = `
local left = redis.call('pttl', KEYS[1])
local counted = tonumber(ARGV[1])
if left > 0 and left <= counted and left > counted - 1000 then redis.call('decr', KEYS[1]) end`;

/** Makes the quota that the configuration describes. */
export function createQuota(redis: Redis, prefix: string, settings: Config['query']['quota']): Quota {
  // Only counts: what the count means is for the store's own policy to say, which comes in the same round trip.
  const counter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: '',
    points: settings.requests,
    duration: settings.windowSeconds,
    rejectIfRedisNotReady: true,
  });
  return {
    policyOf: (own) => ({
      requests: own?.requests ?? settings.requests,
      windowSeconds: own?.windowSeconds ?? settings.windowSeconds,
    }),
    async count(environment, storeId, windowSeconds) {
      const key = redisKeys(prefix, environment, storeId).quota(windowSeconds);
      const { consumedPoints, msBeforeNext } = await counter.penalty(key, 1, {
        customDuration: windowSeconds,
      });
      return { key, windowSeconds, consumed: consumedPoints, milliseconds: msBeforeNext };
    },
    async giveBack({ key, milliseconds }) {
      await redis.eval(GIVE_BACK, 1, key, milliseconds);
    },
  };
}

/** What a count means under a policy. */
export function quotaState(
  { consumed, milliseconds }: Counted,
  { requests: limit, windowSeconds }: QuotaPolicy,
): QuotaState {
  return {
    allowed: consumed <= limit,
    limit,
    windowSeconds,
    remaining: Math.max(0, limit - consumed),
    // A count still holds in the millisecond in which it ends, so a full second is not enough for one.
    resetSeconds: Math.min(windowSeconds, Math.floor(milliseconds / 1_000) + 1),
  };
}
