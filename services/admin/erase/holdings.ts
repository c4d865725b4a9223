/**
 * Removes a store's access and its documents in one generation. After a kill the next
 * command removes the rest. The blocked store and its revoked keys, without rights, stay: a Redis
 * restored from an old snapshot is reconciled with them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { type StoreAccess, WITHOUT_RIGHTS } from '#shared/access/access-keys.ts';
import { publishedKey, redisKeys, replaceVersioned } from '#shared/access/grants.ts';
import { inBatches } from '#shared/waiting.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { storesNamedBy } from '#shared/projection/dead-letters/letter.ts';
import {
  CHECKPOINTS,
  type CollectionName,
  DEAD_LETTERS,
  INDEXES,
  STAMPS,
  lettersIn,
} from '#shared/read-models/collections.ts';
import { ofStore, type OfStore } from '#shared/read-models/sharding.ts';
import { execute, nodeFor } from '#shared/redis-masters.ts';
import { changeAccess, existingKey, keySubject } from '../access/change.ts';
import { toMessage } from '../dead-letters/messages.ts';
import type { Servers } from '../servers.ts';

export type StoreOf = Pick<StoreAccess, 'environment' | 'store_id'>;

/** Keys that Redis scans at once. */
const SCAN_BATCH = 1_000;

/** Revokes every key of the store, and removes its rights. */
export async function revokeKeys(servers: Servers, store: StoreOf): Promise<void> {
  const { namePrefix: prefix } = servers.config;
  const redis = await servers.redis();
  const collections = await servers.access();
  const { keys } = collections;
  const valid = await keys.find({ ...store, status: { $ne: 'revoked' } }).toArray();
  for (const { _id } of valid) {
    const about = { action: 'keys.revoke', client_id: _id, ...store } as const;
    await changeAccess(servers, about, keySubject(collections, _id), (before) => ({
      ...existingKey(_id, before, true),
      status: 'revoked' as const,
    }));
  }
  await keys.updateMany({ ...store }, WITHOUT_RIGHTS);
  for (const key of await keys.find({ ...store }).toArray()) {
    const published = publishedKey(prefix, key);
    await execute(replaceVersioned(nodeFor(redis, published.redisKey).multi(), published));
  }
}

/** Removes sessions, their revocations and all counts, after the keys were revoked. */
export async function removeAccess(servers: Servers, store: StoreOf): Promise<void> {
  const control = await servers.control();
  const { environment, store_id } = store;
  const own = redisKeys(servers.config.namePrefix, environment, store_id);
  // All are on one node.
  const redis = nodeFor(await servers.redis(), own.storeAccess);
  for (const prefix of [own.session(''), own.tokens(''), own.quota('')]) {
    for await (const names of scanPrefix(redis, prefix)) await redis.del(...names);
  }
  await redis.del(own.lastTokens);
  await (await servers.access()).revokedSessions.deleteMany({ ...store });
  const letters = await Array.fromAsync(lettersOf(control, accessTopic(environment), store_id));
  await lettersIn(control).deleteMany({ _id: { $in: letters } });
}

/**
 * The keys that begin with a prefix, some at a time.
 * @param prefix without characters of a pattern, as it ends after a store's id.
 */
export async function* scanPrefix(redis: Redis, prefix: string): AsyncGenerator<string[]> {
  // A scan may return a key twice.
  const seen = new Set<string>();
  for await (const names of redis.scanStream({ match: `${prefix}*`, count: SCAN_BATCH })) {
    const fresh = new Set(names as string[]).difference(seen);
    for (const name of fresh) seen.add(name);
    if (fresh.size > 0) yield [...fresh];
  }
}

/** Documents that are removed at once. */
const PIECE = 500;
/** Each piece is followed by a rest of so many times its duration, for other users of MongoDB. */
const REST = 2;
/** Letters hold up to a mebibyte each. */
const LETTERS_BATCH = 20;

export type Counts = Record<string, number>;

/** The collections that hold documents of stores; the stamp first. */
const COLLECTIONS_OF_STORES = (Object.keys(INDEXES) as CollectionName[])
  .filter((name) => name !== CHECKPOINTS && name !== DEAD_LETTERS)
  .toSorted((a, b) => Number(b === STAMPS) - Number(a === STAMPS));

/**
 * Removes the documents of a store in pieces with pauses, and repeats until a pass finds nothing: a retry of letters may write meanwhile.
 * @returns how many there were, by collection.
 */
export async function removeDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const counts: Counts = {};
  const remove = async (name: string, all: AsyncIterable<unknown>) => {
    for await (const ids of inBatches(all, PIECE)) {
      const began = performance.now();
      await db.collection(name).deleteMany({ _id: { $in: ids as never[] } });
      await sleep((performance.now() - began) * REST);
      add(counts, name, ids.length);
    }
  };
  let before: number;
  do {
    before = totalOf(counts);
    for (const name of COLLECTIONS_OF_STORES) {
      const options = { projection: { _id: 1 }, batchSize: PIECE };
      const found = db.collection<OfStore>(name).find(ofStore(name, storeId), options);
      const ids = found.map(({ _id }) => _id as unknown);
      await remove(name, ids);
    }
    await remove(DEAD_LETTERS, lettersOf(db, topic, storeId));
  } while (totalOf(counts) > before);
  return counts;
}

/** The letters whose key, or whose message, names the store. */
async function* lettersOf(db: Db, topic: string, storeId: string): AsyncGenerator<string> {
  const letters = lettersIn(db);
  for await (const letter of letters.find({ topic }, { batchSize: LETTERS_BATCH })) {
    if (storesNamedBy(toMessage(letter)).includes(storeId)) yield letter._id;
  }
}

function add(counts: Counts, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}

export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
