/**
 * Limits failed authentications at the token endpoint by three counts: of a client from one address, of an address, and of a client
 * (decision 0015). Only the first refuses a right secret, so an attacker cannot lock out a client at another address; the other two
 * lower the limit of the first.
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

/** The limit that a failure exceeded, for the metric. */
export type FailureLimit = 'none' | 'client_and_address' | 'address' | 'client';

export type FailedAuthentications = ReturnType<typeof createFailedAuthentications>;

/** What a client may still fail from an address while that address, or others for that client, fail a lot. */
const CAUTIOUS = 5;

/** Clients and addresses that are known to be refused for now. */
const CACHED = 10_000;

export function createFailedAuthentications(
  redis: RedisRouter,
  prefix: string,
  settings: Config['query']['authFailures'],
  counter: Counter<'limit'>,
) {
  const { windowSeconds, perClientAndAddress, perAddress, perClient } = settings;
  const cautious = Math.min(CAUTIOUS, perClientAndAddress);
  const counters = new WeakMap<Redis, RateLimiterRedis>();
  /** Counts a failure where its count lies. */
  const count = (key: string) => {
    const storeClient = nodeFor(redis, key);
    let failures = counters.get(storeClient);
    if (failures === undefined) {
      failures = new RateLimiterRedis({
        storeClient,
        keyPrefix: '',
        points: perClientAndAddress,
        duration: windowSeconds,
        rejectIfRedisNotReady: true,
      });
      counters.set(storeClient, failures);
    }
    return failures.penalty(key);
  };
  const read = async (key: string) => Number((await nodeFor(redis, key).get(key)) ?? 0);
  /** While a refusal surely lasts in Redis, it needs no look-up and no count: a flood costs neither. */
  const refused = new LRUCache<string, true>({ max: CACHED });

  const slow = (limit: FailureLimit, milliseconds: number): Refusal => {
    counter.inc({ limit });
    return tooManyFailures(milliseconds, windowSeconds);
  };
  const refusePair = (pair: string, milliseconds: number): Refusal => {
    refused.set(pair, true, { ttl: milliseconds });
    return slow('client_and_address', milliseconds);
  };

  /** @param address as the peer or a trusted proxy has it; only its hash is kept, for the length of a window. */
  return (clientId: string, address: string | undefined) => {
    const keys = keysOf(prefix, clientId, address);
    return {
      /** Refuses at once what is known here to be refused for now. @throws {Refused} 429 `slow_down`. */
      requireUnrefused() {
        const left = refused.getRemainingTTL(keys.pair);
        if (left > 0) throw new Refused(slow('client_and_address', left));
      },
      /** Refuses any secret once this client has failed too often from this address. @throws {Refused} 429 `slow_down`. */
      async requireWithin() {
        this.requireUnrefused();
        // Nearly always 0, and then the other counts need not be read.
        const failed = await read(keys.pair);
        if (failed < cautious) return;
        const [ofAddress, ofClient, milliseconds] = await Promise.all([
          read(keys.address),
          read(keys.client),
          nodeFor(redis, keys.pair).pttl(keys.pair),
        ]);
        const suspected = ofAddress >= perAddress || ofClient >= perClient;
        if (failed < (suspected ? cautious : perClientAndAddress) || milliseconds < 0) return;
        throw new Refused(refusePair(keys.pair, milliseconds));
      },
      /** Counts a failure. @returns how it is answered: 401 `invalid_client`, or 429 beyond a limit. */
      async failed(): Promise<Refusal> {
        const [pair, ofAddress, ofClient] = await Promise.all([
          count(keys.pair),
          count(keys.address),
          count(keys.client),
        ]);
        if (pair.consumedPoints > perClientAndAddress) return refusePair(keys.pair, pair.msBeforeNext);
        if (ofAddress.consumedPoints > perAddress) return slow('address', ofAddress.msBeforeNext);
        if (ofClient.consumedPoints > perClient) return slow('client', ofClient.msBeforeNext);
        counter.inc({ limit: 'none' });
        return INVALID_CLIENT;
      },
    };
  };
}

/**
 * Names of the counts. A client counts by 16 bits of its hash: so an attacker with invented names fills Redis with at most 65,536 counts,
 * and clients that exist look like others.
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

/** @param forwardedFor the header `X-Forwarded-For`: each proxy adds whom it saw at its end. */
export type ClientAddress = (
  peer: string | undefined,
  forwardedFor: string | string[] | undefined,
) => string | undefined;

/** @param trusted networks of proxies that are believed. @param unreadable called once with one that forwarded something else. */
export function clientAddresses(trusted: readonly string[], unreadable: (proxy: string) => void): ClientAddress {
  if (trusted.length === 0) return (peer) => peer;
  const networks = { trusted: trusted.map((text) => networkOf(text)) };
  const isTrusted = (address: string) => ipaddr.subnetMatch(ipaddr.process(address), networks, 'other') === 'trusted';
  let told = false;
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
        // Who sent it is the last that is known: clients of other proxies do not share an address with it.
        if (!told) unreadable(nearest);
        told = true;
        break;
      }
      nearest = address;
    }
    return nearest;
  };
}

/** An entry as proxies write it: an address, perhaps with a port, in brackets or quotes; else `null`. */
function readAddress(entry: string): string | null {
  const text = /^"(.*)"$/.exec(entry)?.[1] ?? entry;
  const address =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^((?:::ffff:)?[\d.]+):\d{1,5}$/i.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? null : address;
}

function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const parsed = ipaddr.process(text);
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128];
}

/**
 * The address or network of a client. An IPv4 address that came as IPv6 (`::ffff:203.0.113.9`) is the
 * same one. What a proxy sent that is no address falls into one group.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/** Names the sender before anything is verified, by which what waits is shared out: the store of a known token, else the address. */
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
