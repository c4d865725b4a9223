/**
 * Copies of keys and their stores, as MongoDB had them when they last got a token. A copy counts for a request only if
 * Redis, asked for that request, has just the versions that the copy has: versions rise with every change and reach
 * Redis before the change counts as made, so that a copy is never older than what other requests are decided by.
 */
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { type AccessKey, isBlocked, type StoreAccess, storeAccessId } from '#shared/access/access-keys.ts';
import { type Published, publishedGrant, publishedState } from '#shared/access/grants.ts';

export interface KnownClient {
  key: AccessKey;
  store: StoreAccess | null;
  /** `_id` of the store's record. */
  storeId: string;
  blocked: boolean;
  /** What Redis holds where nothing has changed. */
  grant: Published;
  state: Published;
}

const REMEMBERED = 20_000;

export class KnownClients {
  readonly #prefix: string;
  readonly #clients = new LRUCache<string, KnownClient>({ max: REMEMBERED });

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get(clientId: string): KnownClient | undefined {
    return this.#clients.get(clientId);
  }

  /** Remembers what MongoDB says of a client that has authenticated. */
  learn(key: AccessKey, store: StoreAccess | null): KnownClient {
    const { environment, store_id: storeId } = key;
    const known = {
      key,
      store,
      storeId: storeAccessId(environment, storeId),
      blocked: isBlocked(store),
      grant: publishedGrant(this.#prefix, key),
      state: publishedState(this.#prefix, environment, storeId, store),
    };
    this.#clients.set(key._id, known);
    return known;
  }
}

/** Asks Redis which version it has of what is published under a key. */
export function readVersion(redis: Redis, { redisKey }: Published): Promise<string[]> {
  return redis.zrange(redisKey, '0', '0', 'REV', 'WITHSCORES');
}

/** Whether an answer of `readVersion` is what was published. */
export function isSame([member, version]: readonly string[], published: Published): boolean {
  return member === published.member && Number(version) === published.version;
}
