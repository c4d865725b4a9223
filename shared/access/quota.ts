/** The quota of a store in an environment, shared by all its tokens and all instances (SPEC section 8). */
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../config.ts';
import { redisKeys } from './redis-keys.ts';

export interface QuotaState {
  /** Whether this request is within the quota. */
  allowed: boolean;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  resetSeconds: number;
}

export interface Quota {
  /** Counts one request. @throws when Redis is away: that is an outage, never a refusal. */
  count: (environment: string, storeId: string) => Promise<QuotaState>;
  /** Gives one request back, after its token turned out not to pass. */
  giveBack: (environment: string, storeId: string) => Promise<void>;
}

/** Makes the quota that the configuration describes. */
export function createQuota(redis: Redis, prefix: string, settings: Config['query']['quota']): Quota {
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: '',
    points: settings.requests,
    duration: settings.windowSeconds,
    rejectIfRedisNotReady: true,
  });
  const state = (result: RateLimiterRes, allowed: boolean): QuotaState => ({
    allowed,
    limit: settings.requests,
    windowSeconds: settings.windowSeconds,
    remaining: result.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1_000)),
  });
  return {
    async count(environment, storeId) {
      try {
        return state(await limiter.consume(redisKeys(prefix, environment, storeId).quota), true);
      } catch (error) {
        if (error instanceof RateLimiterRes) return state(error, false);
        throw error;
      }
    },
    async giveBack(environment, storeId) {
      await limiter.reward(redisKeys(prefix, environment, storeId).quota);
    },
  };
}
