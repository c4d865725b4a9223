/**
 * Limits failed authentications at the token endpoint by three counts (decision 0015): of a client
 * from one address, of an address, and of a client. Only the first refuses a right secret, so an
 * attacker cannot lock out a client at another address. The others lower its limit.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Redis } from 'ioredis';
import type { Counter } from 'prom-client';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { Config } from '#shared/config.ts';
import { nodeFor, type RedisRouter } from '#shared/redis-masters.ts';
import { addressGroup } from '../access/client-address.ts';
import { type Refusal, Refused } from '../responses/refusal.ts';
import { INVALID_CLIENT, tooManyFailures } from './form.ts';

export type FailedAuthentications = ReturnType<typeof createFailedAuthentications>;

/**
 * The library's script, but for one thing: it also repairs an expiry that is longer than the
 * window. The clock was set back then, or another server's clock counts now.
 */
const COUNT = `
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('incrby', KEYS[1], ARGV[1])
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 or ttl > ARGV[2] * 1000 then
  redis.call('expire', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
return {consumed, ttl}`;

/**
 * The limit of a client at an address while the count of that address, or of that client, is
 * exceeded.
 */
const CAUTIOUS = 5;
const MAX_CACHED_REFUSALS = 10_000;

export function createFailedAuthentications(
  redis: RedisRouter,
  prefix: string,
  settings: Config['query']['authFailures'],
  counter: Counter<'limit'>,
) {
  const { windowSeconds, perClientAndAddress, perAddress, perClient } = settings;
  const cautious = Math.min(CAUTIOUS, perClientAndAddress);
  const counters = new WeakMap<Redis, RateLimiterRedis>();
  // Asynchronous, so that it never throws while others are under way.
  const count = async (key: string) => {
    const storeClient = nodeFor(redis, key);
    let failures = counters.get(storeClient);
    if (failures === undefined) {
      failures = new RateLimiterRedis({
        storeClient,
        keyPrefix: '',
        points: perClientAndAddress,
        duration: windowSeconds,
        rejectIfRedisNotReady: true,
        customIncrTtlLuaScript: COUNT,
      });
      counters.set(storeClient, failures);
    }
    return failures.penalty(key);
  };
  const read = async (key: string) => Number((await nodeFor(redis, key).get(key)) ?? 0);
  const windowMs = windowSeconds * 1_000;
  /** Refused requests do not count, so that no script repairs the expiry. */
  const readExpiry = async (key: string) => {
    const milliseconds = await nodeFor(redis, key).pttl(key);
    if (milliseconds <= windowMs) return milliseconds;
    await nodeFor(redis, key).pexpire(key, windowMs);
    return windowMs;
  };
  /** When refusals end: a flood of failures costs no read and no count in Redis. */
  const refused = new LRUCache<string, number>({ max: MAX_CACHED_REFUSALS });

  const slow = (
    limit: 'client_and_address' | 'address' | 'client',
    milliseconds: number,
  ): Refusal => {
    counter.inc({ limit });
    return tooManyFailures(milliseconds, windowSeconds);
  };
  const refusePair = (pair: string, milliseconds: number): Refusal => {
    refused.set(pair, performance.now() + milliseconds);
    return slow('client_and_address', milliseconds);
  };

  /** @param address only its hash is stored, for the length of a window. */
  return (clientId: string, address: string | undefined) => {
    const keys = keysOf(prefix, clientId, address);
    return {
      /** Refuses without asking Redis. @throws {Refused} 429 `slow_down`. */
      refuseIfCached() {
        const left = (refused.get(keys.pair) ?? 0) - performance.now();
        if (left > 0) throw new Refused(slow('client_and_address', left));
      },
      /**
       * Refuses any secret after too many failures of this client from this address.
       * @throws {Refused} 429 `slow_down`.
       */
      async refuseIfOverLimit() {
        this.refuseIfCached();
        // Nearly always 0: then the other counts need not be read.
        const failed = await read(keys.pair);
        if (failed < cautious) return;
        const [ofAddress, ofClient, milliseconds] = await Promise.all([
          read(keys.address),
          read(keys.client),
          readExpiry(keys.pair),
        ]);
        const suspected = ofAddress >= perAddress || ofClient >= perClient;
        if (failed < (suspected ? cautious : perClientAndAddress) || milliseconds < 0) return;
        throw new Refused(refusePair(keys.pair, milliseconds));
      },
      /**
       * Counts a failure.
       * @returns how it is answered: 401 `invalid_client`, or 429 beyond a limit.
       */
      async failed(): Promise<Refusal> {
        const [pair, ofAddress, ofClient] = await Promise.all([
          count(keys.pair),
          count(keys.address),
          count(keys.client),
        ]);
        if (pair.consumedPoints > perClientAndAddress)
          return refusePair(keys.pair, pair.msBeforeNext);
        if (ofAddress.consumedPoints > perAddress) return slow('address', ofAddress.msBeforeNext);
        if (ofClient.consumedPoints > perClient) return slow('client', ofClient.msBeforeNext);
        counter.inc({ limit: 'none' });
        return INVALID_CLIENT;
      },
    };
  };
}

/**
 * A client counts by 16 bits of its hash: an attacker with invented names fills Redis with at most
 * 65,536 counts.
 */
function keysOf(prefix: string, clientId: string, address: string | undefined) {
  const client = hash('sha256', clientId).slice(0, 4);
  const tag = `${prefix}:{failed:${hash('sha256', addressGroup(address)).slice(0, 16)}}`;
  return {
    pair: `${tag}:client:${client}`,
    address: `${tag}:address`,
    client: `${prefix}:{failed:client:${client}}`,
  };
}
