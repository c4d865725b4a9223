/**
 * `stores erase`: first the erasure is stored, so that nothing of the store is applied any longer;
 * then access and the documents of every generation are removed; last the ends of the logs are
 * stored and published, before which events are skipped. Run again, it continues. The blocked store
 * and its revoked keys, without rights, stay: a Redis restored from an old snapshot is reconciled
 * with them.
 */
import {
  type PartitionEnd,
  type StoreAccess,
  storeAccessId,
  WITHOUT_RIGHTS,
} from '#shared/access/access-keys.ts';
import { lastMessageBefore, MAX_CLOSING_MS } from '#shared/access/erased-stores.ts';
import { publishedKey, redisKeys, replaceVersioned } from '#shared/access/grants.ts';
import { commandInvalid } from '#shared/errors.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { storesNamedBy } from '#shared/projection/dead-letters/letter.ts';
import { type LastMessage, checkpointsIn } from '#shared/projection/slice/checkpoint.ts';
import {
  CHECKPOINTS,
  type CollectionName,
  DEAD_LETTERS,
  INDEXES,
  STAMPS,
  lettersIn,
} from '#shared/read-models/collections.ts';
import { describeOtherRelease } from '#shared/read-models/generation.ts';
import { ofStore, type OfStore } from '#shared/read-models/sharding.ts';
import { execute, nodeFor } from '#shared/redis-masters.ts';
import { inBatches } from '#shared/waiting.ts';
import {
  changeAccess,
  remarkUnknownStore,
  storeSubject,
  existingKey,
  keySubject,
  type StoreOf,
} from '../access/change.ts';
import { publishErasure } from '../access/log.ts';
import { audited } from '../audit.ts';
import { toMessage } from '../dead-letters/messages.ts';
import { storeCommand } from '../options.ts';
import { askFor, checkCanAsk, printFacts } from '../output.ts';
import { type Environment, openEnvironment, type Servers } from '../servers.ts';
import { withTransactionKill } from '../transaction.ts';
import type { Redis } from 'ioredis';
import type { Db, Filter } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';

export const eraseCommand = () =>
  storeCommand('erase', 'Remove everything that is stored of a store, for good')
    .option('-y, --yes', 'do not ask')
    .action(async (store_id, flags) => {
      checkCanAsk(flags, 'erase a store for good');
      await using environment = await openEnvironment(flags);
      const store = { environment: environment.name, store_id };
      await remarkUnknownStore(environment, store_id);
      const question = `Erase all that is stored of ${store_id} in ${environment.name} for good?`;
      await askFor(flags, question, 'nothing was erased');
      const generations = await audited(
        environment.servers,
        { action: 'stores.erase', ...store, details: {} },
        () => eraseStore(environment, store),
        (removed) => {
          const documents = removed.reduce((sum, one) => sum + totalOf(one.documents), 0);
          return { details: { documents, generations: removed.length } };
        },
      );
      const documents = generations.flatMap(({ generation, documents: counts }) =>
        Object.entries(counts).map(([name, count]) => [`g${generation} ${name}`, count]),
      );
      printFacts({ ...store, generations }, { ...store, ...Object.fromEntries(documents) });
    });

/** Without ends no message of the store is applied. */
const UNDER_WAY = { at: '$$NOW', sequence: { $add: [{ $ifNull: ['$erased.sequence', 0] }, 1] } };

/** @returns the numbers of removed documents of each generation. */
async function eraseStore(environment: Environment, store: StoreOf) {
  const { servers, topic, topics } = environment;
  const { store_id } = store;
  // Fails here if a server is missing, before anything is changed.
  await servers.redis();
  await endsOf(servers, topics);
  const control = await servers.control();
  await generationsOf(environment);

  const subject = storeSubject(await servers.access(), store);
  await changeAccess(servers, { action: 'stores.block' }, subject, () => ({
    status: 'blocked' as const,
  }));
  const isNoted = await note(servers, store, UNDER_WAY);
  if (!isNoted) throw new Error('the record of the store that was blocked is not there');
  await afterSlicesUnderWay(control, environment.accessTopic);
  await revokeKeys(servers, store);
  await removeAccess(servers, store);

  const removed = [];
  for (const { number: generation, db } of await generationsOf(environment)) {
    await afterSlicesUnderWay(db, topic);
    removed.push({ generation, documents: await removeDocuments(db, topic, store_id) });
  }

  await noteEnds(servers, store, topics);
  await publishErasure(environment, store_id);
  return removed;
}

/**
 * The ends are read again if that took too long, or a partition got its first message meanwhile.
 */
const MAX_ATTEMPTS = 10;

/**
 * Stores the ends of the logs: messages before them are skipped, later ones begin a new store.
 * While the erasure is closing, slices wait for the ends; an older slice skips only what it fetched
 * before. So all processes decide alike about each message.
 */
async function noteEnds(servers: Servers, store: StoreOf, topics: readonly string[]) {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const logs = await readLastMessages(servers, topics);
    await note(servers, store, {
      at: '$erased.at',
      sequence: '$erased.sequence',
      closing_at: '$$NOW',
    });
    const known: PartitionEnd[] = [];
    let isWhole = true;
    for (const one of await endsOf(servers, topics)) {
      const { end, last = null } = logs.get(`${one.topic}/${one.partition}`) ?? {};
      if (last !== null) known.push({ ...one, last });
      // A partition without messages, as after aborted transactions, has nothing to skip unless its
      // end moved.
      else if (one.end !== 0 && one.end !== end) isWhole = false;
    }
    const erased = { at: '$$NOW', sequence: '$erased.sequence', ends: { $literal: known } };
    if (isWhole && (await note(servers, store, erased, IS_CLOSING_IN_TIME))) return;
  }
  throw commandInvalid(
    `the ends of the logs cannot be stored: Kafka is slow, or store ${store.store_id} is still published. ` +
      'Stop its publishers, and run the command again',
  );
}

/** By the clock of MongoDB, like the waiting slices. */
const IS_CLOSING_IN_TIME = {
  $expr: { $lt: [{ $subtract: ['$$NOW', '$erased.closing_at'] }, MAX_CLOSING_MS] },
};

/** The end of each partition's log, and its last message; by `<topic>/<partition>`. */
async function readLastMessages(servers: Servers, topics: readonly string[]) {
  const found = new Map<string, { end: number; last: LastMessage | null }>();
  for (const topic of topics) {
    const log = await servers.logReader(topic);
    for (const [partition, { end }] of await log.bounds()) {
      found.set(`${topic}/${partition}`, {
        end,
        last: await lastMessageBefore(log, partition, end),
      });
    }
  }
  return found;
}

async function endsOf(servers: Servers, topics: readonly string[]) {
  const ends = [];
  for (const topic of topics) {
    for (const [partition, { end }] of await servers.logBounds(topic))
      ends.push({ topic, partition, end });
  }
  return ends;
}

/**
 * @throws {StoreDataError} `command_invalid` if one has another projection version: its release
 * may not know erasures.
 */
async function generationsOf(environment: Environment) {
  const known = await environment.generations();
  return known.filter(({ state, marker }) => {
    if (marker === null || state === 'dropping') return false;
    const other = describeOtherRelease(marker);
    if (other !== null) throw commandInvalid(`${other}: drop it first, or use its release`);
    return true;
  });
}

/**
 * Stores the erasure in the store's access record, which is blocked, and removes there the store's own status and quota.
 * @param erased an expression of MongoDB.
 * @returns whether the record passes the filter.
 */
async function note(
  servers: Servers,
  { environment, store_id }: StoreOf,
  erased: object,
  filter: Filter<StoreAccess> = {},
): Promise<boolean> {
  const control = await servers.control();
  const { stores } = await servers.access();
  const _id = storeAccessId(environment, store_id);
  const fields = {
    // An object alone would be merged into that of an earlier erasure, whose ends would stay.
    erased: { $mergeObjects: [erased] },
    record_status: 'active',
    record_sequence: -1,
    quota: '$$REMOVE',
    // Like `nextVersion`.
    version: { $max: [{ $add: ['$version', 1] }, Date.now()] },
    publish_pending: true,
    updated_at: '$$NOW',
  };
  const topic = accessTopic(environment);
  const store = await withTransactionKill(control, topic, () =>
    stores.findOneAndUpdate({ ...filter, _id }, [{ $set: fields }], {
      returnDocument: 'after',
    }),
  );
  if (store === null) return false;
  await servers.publishToRedis(store);
  return true;
}

/**
 * Waits for slices that began before the erasure was stored: each writes its checkpoint first, so
 * this write waits for its end.
 */
async function afterSlicesUnderWay(db: Db, topic: string): Promise<void> {
  const checkpoints = checkpointsIn(db);
  await withTransactionKill(db, topic, () =>
    checkpoints.updateMany({ topic }, { $set: { updated_at: new Date() } }),
  );
}

/** Keys that Redis scans at once. */
const SCAN_BATCH = 1_000;

/** Revokes every key of the store, and removes its rights. */
async function revokeKeys(servers: Servers, store: StoreOf): Promise<void> {
  const { namePrefix: prefix } = servers.config;
  const redis = await servers.redis();
  const collections = await servers.access();
  const { keys } = collections;
  const valid = await keys.find({ ...store, status: { $ne: 'revoked' } }).toArray();
  for (const { _id } of valid) {
    const subject = keySubject(collections, _id);
    await changeAccess(servers, { action: 'keys.revoke' }, subject, (before) => ({
      ...existingKey(_id, before, true),
      status: 'revoked' as const,
    }));
  }
  await keys.updateMany(store, WITHOUT_RIGHTS);
  for (const key of await keys.find(store).toArray()) {
    const published = publishedKey(prefix, key);
    await execute(replaceVersioned(nodeFor(redis, published.redisKey).multi(), published));
  }
}

/** Removes sessions, their revocations and all counts, after the keys were revoked. */
async function removeAccess(servers: Servers, store: StoreOf): Promise<void> {
  const control = await servers.control();
  const { environment, store_id } = store;
  const own = redisKeys(servers.config.namePrefix, environment, store_id);
  // All are on one node.
  const redis = nodeFor(await servers.redis(), own.storeAccess);
  for (const prefix of [own.session(''), own.tokens(''), own.quota('')]) {
    for await (const names of scanPrefix(redis, prefix)) await redis.del(...names);
  }
  await redis.del(own.lastTokens);
  await (await servers.access()).revokedSessions.deleteMany(store);
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

type Counts = Record<string, number>;

/** The collections that hold documents of stores; the stamp first. */
const COLLECTIONS_OF_STORES = (Object.keys(INDEXES) as CollectionName[])
  .filter((name) => name !== CHECKPOINTS && name !== DEAD_LETTERS)
  .toSorted((a, b) => Number(b === STAMPS) - Number(a === STAMPS));

/**
 * Removes the documents of a store in pieces with pauses, and repeats until a pass finds nothing: a retry of letters may write meanwhile.
 * @returns how many there were, by collection.
 */
async function removeDocuments(db: Db, topic: string, storeId: string): Promise<Counts> {
  const counts: Counts = {};
  const remove = async (name: string, all: AsyncIterable<unknown>) => {
    for await (const ids of inBatches(all, PIECE)) {
      const began = performance.now();
      await db.collection(name).deleteMany({ _id: { $in: ids as never[] } });
      await sleep((performance.now() - began) * REST);
      counts[name] = (counts[name] ?? 0) + ids.length;
    }
  };
  let before: number;
  do {
    before = totalOf(counts);
    for (const name of COLLECTIONS_OF_STORES) {
      const options = { projection: { _id: 1 }, batchSize: PIECE };
      const found = db.collection<OfStore>(name).find(ofStore(name, storeId), options);
      await remove(
        name,
        found.map(({ _id }) => _id),
      );
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

function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
