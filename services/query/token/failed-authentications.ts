/**
 * Limits failed authentications at the token endpoint by three counts (decision 0015): of a client
 * from one address, of an address, and of a client. Only the first refuses a right secret, so an
 * attacker cannot lock out a client at another address. The others lower its limit.
 */
import ipaddr from 'ipaddr.js';
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { Counter } from 'prom-client';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { isIP } from 'node:net';
import type { Config } from '#shared/config.ts';
import { nodeFor, type RedisRouter } from '#shared/redis-masters.ts';
import { bearerToken } from '../access/live-access.ts';
import type { TokenClaims } from '../access/tokens.ts';
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

export type ClientAddress = (
  peer: string | undefined,
  forwardedFor: string | string[] | undefined,
) => string | undefined;

/**
 * @param trusted networks of proxies.
 * @param unreadable called once, with a proxy that forwarded something other than an address.
 */
export function clientAddresses(
  trusted: readonly string[],
  unreadable: (proxy: string) => void,
): ClientAddress {
  if (trusted.length === 0) return (peer) => peer;
  const networks = { trusted: trusted.map((text) => networkOf(text)) };
  const isTrusted = (address: string) =>
    ipaddr.subnetMatch(parseAddress(address), networks, 'other') === 'trusted';
  let isReported = false;
  return (peer, forwardedFor) => {
    if (peer === undefined || isIP(peer) === 0) return peer;
    const entries = [forwardedFor ?? []].flat().join(',').split(',').reverse();
    let nearest = peer;
    for (const entry of entries) {
      const text = entry.trim();
      if (text === '') continue;
      if (!isTrusted(nearest)) break;
      const address = readAddress(text);
      if (address === null) {
        // The proxy that sent it is the nearest known address.
        if (!isReported) unreadable(nearest);
        isReported = true;
        break;
      }
      nearest = address;
    }
    return nearest;
  };
}

/** The address in an entry, which may have a port, brackets or quotes; `null` for anything else. */
function readAddress(entry: string): string | null {
  const text = /^"(.*)"$/.exec(entry)?.[1] ?? entry;
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    /^((?:::ffff:)?[\d.]+):\d{1,5}$/i.exec(text)?.[1] ??
    text;
  return isIP(address) === 0 ? null : address;
}

/**
 * The zone of a link-local address (`%eth0`) is left out: ipaddr.js throws at some that Node
 * accepts.
 */
function parseAddress(address: string) {
  return ipaddr.process(address.split('%', 1)[0] ?? '');
}

function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const parsed = ipaddr.process(text);
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
}

/**
 * The address of a client, or its /64 network of IPv6. IPv4 as IPv6 (`::ffff:203.0.113.9`) is the
 * same address.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return 'unknown';
  const parsed = parseAddress(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/**
 * Names the sender, among which waiting requests are shared out: the store of a token verified
 * before, else the address.
 */
export function senders(
  claimsOf: (token: string) => TokenClaims | undefined,
  addressOf: ClientAddress,
): (request: IncomingMessage) => string {
  return ({ headers, socket }) => {
    const token = bearerToken(headers.authorization);
    const claims = token === null ? undefined : claimsOf(token);
    if (claims !== undefined) return `store ${claims.environment} ${claims.storeId}`;
    return `address ${addressGroup(addressOf(socket.remoteAddress, headers['x-forwarded-for']))}`;
  };
}
