/**
 * Taking away all access to a store that is erased. What lets nobody in again stays: that the store is blocked and its keys are revoked,
 * without anything that they could do; a Redis restored from an old snapshot is reconciled with that.
 */
import type { Redis } from 'ioredis';
import { controlCollections } from '#shared/access/access-keys.ts';
import { publishedKey, redisKeys, replaceVersioned } from '#shared/access/grants.ts';
import { execute, nodeFor } from '#shared/redis-masters.ts';
import { changeAccess } from '../access/change.ts';
import { existingKey, keySubject, storeSubject } from '../access/subject.ts';
import type { Servers } from '../connection/servers.ts';
import { countLetters, type Counts, removeLetters } from './documents.ts';
import { accessTopic } from '#shared/events/topics.ts';

/** A store in an environment. */
export interface StoreOf {
  environment: string;
  store_id: string;
}

/** How many keys Redis scans before it serves others. */
const SCAN_BATCH = 1_000;

/** Lets no key of the store in, from now on. */
export async function block(servers: Servers, { environment, store_id }: StoreOf): Promise<void> {
  const { namePrefix } = servers.config;
  const subject = storeSubject(await servers.control(), namePrefix, environment, store_id);
  const about = { action: 'stores.block', environment, store_id } as const;
  await changeAccess(servers, about, subject, { compose: () => ({ status: 'blocked' as const }), waitMs: 0 });
}

/** Revokes every key of the store, and takes from each what it could do. @returns how many keys there are. */
export async function revokeKeys(servers: Servers, store: StoreOf): Promise<number> {
  const { namePrefix: prefix } = servers.config;
  const control = await servers.control();
  const redis = await servers.redis();
  const { keys } = controlCollections(control);
  const own = { environment: store.environment, store_id: store.store_id };
  const valid = await keys.find({ ...own, status: { $ne: 'revoked' } }).toArray();
  for (const { _id } of valid) {
    const about = { action: 'keys.revoke', client_id: _id, ...own } as const;
    await changeAccess(servers, about, keySubject(control, prefix, _id), {
      compose: (before) => ({
        ...existingKey(_id, before, { revoked: 'accept' }),
        status: 'revoked' as const,
      }),
      waitMs: 0,
    });
  }
  await keys.updateMany(own, {
    $set: { scopes: [], secret_hashes: [] },
    $unset: { secret_expires_at: '', widest: '' },
  });
  const revoked = await keys.find(own).toArray();
  for (const key of revoked) {
    const { redisKey, version, member } = publishedKey(prefix, key);
    // Where releases before this one kept the hashes of its secrets.
    const former = `${prefix}:client:${key._id}`;
    await nodeFor(redis, former).del(former);
    await execute(replaceVersioned(nodeFor(redis, redisKey).multi(), redisKey, version, member));
  }
  return revoked.length;
}

/** Counts what else is known of the store's access. */
export async function countAccess(servers: Servers, store: StoreOf): Promise<Counts> {
  const control = await servers.control();
  const { keys, revokedSessions } = controlCollections(control);
  const inRedis = { sessions: 0, token_counts: 0, quota_counts: 0 };
  for await (const { kind, names } of scanStore(servers, store)) inRedis[kind] += names.length;
  return {
    keys: await keys.countDocuments({ ...store, status: { $ne: 'revoked' } }),
    ...inRedis,
    revoked_sessions: await revokedSessions.countDocuments({ ...store }),
    dead_letters: await countLetters(control, accessTopic(store.environment), store.store_id),
  };
}

/** Removes sessions, their counts, counts of the quota, and what is noted of either; keys are revoked by then. */
export async function removeAccess(servers: Servers, store: StoreOf): Promise<void> {
  const control = await servers.control();
  const { environment, store_id } = store;
  for await (const { names, redis } of scanStore(servers, store)) await redis.del(...names);
  const { lastTokens } = redisKeys(servers.config.namePrefix, environment, store_id);
  await nodeFor(await servers.redis(), lastTokens).del(lastTokens);
  await controlCollections(control).revokedSessions.deleteMany({ environment, store_id });
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
