/**
 * What is stored of a store: its access, and its documents in one generation; counted, and removed in pieces, each of which is followed by
 * a rest. If the command is killed, the next one removes what is left. What lets nobody in again stays: that the store is blocked and its
 * keys are revoked, without anything that they could do; a Redis restored from an old snapshot is reconciled with that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Db, Document, Filter } from 'mongodb';
import { WITHOUT_RIGHTS } from '#shared/access/access-keys.ts';
import { publishedKey, redisKeys, replaceVersioned } from '#shared/access/grants.ts';
import { inBatches } from '#shared/waiting.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { storesNamedBy } from '#shared/projection/dead-letters/letter.ts';
import {
  CHECKPOINTS,
  DEAD_LETTERS,
  type DeadLetter,
  INDEXES,
  RANK_NODES,
  STAMPS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { anyOf } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { execute, nodeFor } from '#shared/redis-masters.ts';
import { changeAccess, existingKey, keySubject } from '../access/change.ts';
import { toMessage } from '../dead-letters/messages.ts';
import type { Servers } from '../servers.ts';

export interface StoreOf {
  environment: string;
  store_id: string;
}

/** How many keys Redis scans before it serves others. */
const SCAN_BATCH = 1_000;

/** Revokes every key of the store, and takes from each what it could do. */
export async function revokeKeys(servers: Servers, store: StoreOf): Promise<void> {
  const { namePrefix: prefix } = servers.config;
  const redis = await servers.redis();
  const collections = await servers.access();
  const { keys } = collections;
  const valid = await keys.find({ ...store, status: { $ne: 'revoked' } }).toArray();
  for (const { _id } of valid) {
    const about = { action: 'keys.revoke', client_id: _id, ...store } as const;
    await changeAccess(servers, about, keySubject(collections, _id), {
      compose: (before) => ({ ...existingKey(_id, before, true), status: 'revoked' as const }),
    });
  }
  await keys.updateMany({ ...store }, WITHOUT_RIGHTS);
  for (const key of await keys.find({ ...store }).toArray()) {
    const published = publishedKey(prefix, key);
    // Where releases before this one kept the hashes of its secrets.
    const former = `${prefix}:client:${key._id}`;
    await nodeFor(redis, former).del(former);
    await execute(replaceVersioned(nodeFor(redis, published.redisKey).multi(), published));
  }
}

export async function countAccess(servers: Servers, store: StoreOf): Promise<Counts> {
  const { keys, revokedSessions } = await servers.access();
  const inRedis = { sessions: 0, token_counts: 0, quota_counts: 0 };
  for await (const { kind, names } of scanStore(servers, store)) inRedis[kind] += names.length;
  const letters = lettersOf(await servers.control(), accessTopic(store.environment), store.store_id);
  return {
    keys: await keys.countDocuments({ ...store, status: { $ne: 'revoked' } }),
    ...inRedis,
    revoked_sessions: await revokedSessions.countDocuments({ ...store }),
    dead_letters: (await Array.fromAsync(letters)).length,
  };
}

/** Removes sessions, their counts, counts of the quota, and what is noted of either; keys are revoked by then. */
export async function removeAccess(servers: Servers, store: StoreOf): Promise<void> {
  const control = await servers.control();
  const { environment, store_id } = store;
  for await (const { names, redis } of scanStore(servers, store)) await redis.del(...names);
  const { lastTokens } = redisKeys(servers.config.namePrefix, environment, store_id);
  await nodeFor(await servers.redis(), lastTokens).del(lastTokens);
  await (await servers.access()).revokedSessions.deleteMany({ ...store });
  // Former releases wrote down there what they were about to change.
  await control.collection<{ _id: string }>('access_announcements').deleteMany({
    $or: [
      { _id: `store_access/${environment}/${store_id}` },
      { 'state.environment': environment, 'state.store_id': store_id },
    ],
  });
  await removeLetters(control, accessTopic(environment), store_id, {});
}

/** What Redis has of a store besides its keys: sessions, their counts, and counts of the quota. */
async function* scanStore(servers: Servers, { environment, store_id }: StoreOf) {
  const own = redisKeys(servers.config.namePrefix, environment, store_id);
  // They lie together.
  const redis = nodeFor(await servers.redis(), own.storeAccess);
  const kinds = [
    ['sessions', own.session('')],
    ['token_counts', own.tokens('')],
    ['quota_counts', own.quota('')],
  ] as const;
  for (const [kind, prefix] of kinds) {
    for await (const names of scanPrefix(redis, prefix)) yield { kind, names, redis };
  }
}

/** The keys that begin with a prefix, some at a time. @param prefix ends with the id of a store or after it: with no sign of a pattern. */
export async function* scanPrefix(redis: Redis, prefix: string): AsyncGenerator<string[]> {
  // A scan may return a key twice.
  const seen = new Set<string>();
  for await (const names of redis.scanStream({ match: `${prefix}*`, count: SCAN_BATCH })) {
    const fresh = new Set(names as string[]).difference(seen);
    for (const name of fresh) seen.add(name);
    if (fresh.size > 0) yield [...fresh];
  }
}

/** Documents that go together. */
const PIECE = 500;
/** For each millisecond that a piece took, so many follow in which others have MongoDB to themselves. */
const REST = 2;
/** Letters hold up to a mebibyte each. */
const LETTERS_BATCH = 20;

export type Counts = Record<string, number>;

/** The collections that hold documents of stores by their `_id`; the stamp first. */
const COLLECTIONS_OF_STORES = [
  STAMPS,
  ...Object.keys(INDEXES).filter((name) => ![STAMPS, DEAD_LETTERS, CHECKPOINTS].includes(name)),
];

function ofStore(collection: string, storeId: string): Filter<Document> {
  const beginningWith = (prefix: string) => ({ _id: { $gte: `${prefix}/`, $lt: `${prefix}0` } as never });
  if (collection === STAMPS) return { _id: storeId as never };
  if (collection === TOMBSTONES) return { $or: ENTITY_NAMES.map((entity) => beginningWith(`${entity}/${storeId}`)) };
  if (collection === RANK_NODES) {
    return { $or: Object.values(RANK_TREES).map(({ name }) => anyOf(name, storeId)) as never };
  }
  return beginningWith(storeId);
}

export async function countDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const counts: Counts = {};
  for (const name of COLLECTIONS_OF_STORES) {
    add(counts, name, await db.collection(name).countDocuments(ofStore(name, storeId)));
  }
  add(counts, DEAD_LETTERS, (await Array.fromAsync(lettersOf(db, topic, storeId))).length);
  return counts;
}

/** Removes a store's documents, its dead letters included. @returns how many there were. */
export async function removeDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const removed: Counts = {};
  const options = { projection: { _id: 1 }, limit: PIECE, batchSize: PIECE + 1 };
  for (const name of COLLECTIONS_OF_STORES) {
    for (;;) {
      const found = await db.collection(name).find(ofStore(name, storeId), options).toArray();
      if (found.length === 0) break;
      const ids = found.map(({ _id }) => _id);
      add(removed, name, await removePiece(db, name, ids));
    }
  }
  await removeLetters(db, topic, storeId, removed);
  return removed;
}

export async function removeLetters(db: Db, topic: string, storeId: string, removed: Counts): Promise<void> {
  for await (const ids of inBatches(lettersOf(db, topic, storeId), PIECE)) {
    add(removed, DEAD_LETTERS, await removePiece(db, DEAD_LETTERS, ids));
  }
}

async function removePiece(db: Db, collection: string, ids: readonly unknown[]): Promise<number> {
  const began = performance.now();
  const { deletedCount } = await db.collection(collection).deleteMany({ _id: { $in: [...ids] as never[] } });
  await sleep((performance.now() - began) * REST);
  return deletedCount;
}

/** The letters whose key, or whose message, names the store. */
async function* lettersOf(db: Db, topic: string, storeId: string): AsyncGenerator<string> {
  const letters = db.collection<DeadLetter>(DEAD_LETTERS);
  for await (const letter of letters.find({ topic }, { batchSize: LETTERS_BATCH })) {
    if (storesNamedBy(toMessage(letter)).includes(storeId)) yield letter._id;
  }
}

function add(counts: Counts, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}

export function addUp(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) for (const [name, count] of Object.entries(counts)) add(sum, name, count);
  return sum;
}
