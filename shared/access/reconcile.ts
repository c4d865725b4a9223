/** Reconciles a Redis server with MongoDB: no key keeps more rights than in MongoDB. Only differences are written, by version. */
import type { Collection } from 'mongodb';
import { execute, PIPELINED, type RedisMaster } from '../redis-masters.ts';
import type { AccessKey, AccessRecord, ControlCollections, RevokedSession, StoreAccess } from './access-keys.ts';
import {
  type GrantedKey,
  publishAll,
  type Published,
  publishedRecord,
  replaceVersioned,
  setVersioned,
  endOwnSessions,
} from './grants.ts';

export interface ReconcileOptions {
  master: RedisMaster;
  prefix: string;
  control: ControlCollections;
  environments: readonly string[];
  /** Runs a read from MongoDB, and rejects where it takes too long. */
  bounded: <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Ends the work after a batch. */
  signal: AbortSignal;
}

export interface Reconciliation {
  compared: number;
  /** How many of them Redis had older or not at all. */
  repaired: number;
  sessionsEnded: number;
  /** How many Redis has newer than MongoDB, which then was restored from a backup. They stay. */
  ahead: number;
  /** Keys that are revoked in Redis and not in MongoDB: they stay revoked. */
  revokedInRedis: GrantedKey[];
}

export function newReconciliation(): Reconciliation {
  return { compared: 0, repaired: 0, sessionsEnded: 0, ahead: 0, revokedInRedis: [] };
}

/** @param found is filled as the work proceeds: an interrupted reconciliation has repaired something too. */
export async function reconcileAccess(
  options: ReconcileOptions,
  found: Reconciliation = newReconciliation(),
): Promise<Reconciliation> {
  const { master, control, prefix, environments } = options;
  // First, since they are few. A command that revokes one meanwhile ends it in Redis itself.
  // Also those that have expired by this machine's clock, which may be wrong.
  const filter = { environment: { $in: [...environments] } };
  const find = (signal: AbortSignal) => control.revokedSessions.find(filter, { signal }).toArray();
  found.sessionsEnded = await endOwnSessions(master, prefix, await options.bounded(find));
  for (const collection of [control.keys, control.stores]) {
    await compareAll(options, collection as unknown as Collection<AccessRecord>, found);
  }
  return found;
}

async function compareAll(
  options: ReconcileOptions,
  collection: Collection<AccessRecord>,
  found: Reconciliation,
): Promise<void> {
  const readAfter = (id: string) => readBatch(options, collection, id);
  let reading = readAfter('');
  for (;;) {
    const records = await reading;
    const last = records.at(-1);
    if (last === undefined) return;
    // MongoDB reads the next batch while Redis answers for this one.
    reading = readAfter(last._id);
    reading.catch(() => undefined);
    await compareBatch(options, records, found);
    options.signal.throwIfAborted();
  }
}

/** By `_id` and not with a cursor, so that each batch has a time limit of its own. */
function readBatch(
  { environments, bounded }: ReconcileOptions,
  collection: Collection<AccessRecord>,
  after: string,
): Promise<AccessRecord[]> {
  const filter = { _id: { $gt: after }, environment: { $in: [...environments] } };
  return bounded((signal) => collection.find(filter, { signal }).sort({ _id: 1 }).limit(PIPELINED).toArray());
}

async function compareBatch(
  { master: { redis, owns }, prefix }: ReconcileOptions,
  records: readonly AccessRecord[],
  found: Reconciliation,
): Promise<void> {
  const wanted = records
    .map((record) => ({ record, published: publishedRecord(prefix, record) }))
    .filter(({ published }) => owns(published.redisKey));
  const reads = redis.pipeline();
  for (const { published } of wanted) reads.zrange(published.redisKey, '0', '0', 'REV', 'WITHSCORES');
  const answers = (await execute(reads)).map(heldOf);
  const writes = redis.pipeline();
  const replaced: Published[] = [];
  for (const [index, { record, published }] of wanted.entries()) {
    const { version, member } = published;
    const held = answers[index] ?? null;
    found.compared += 1;
    if (held !== null && held.version > version) {
      found.ahead += 1;
      const isRevoked = held.member.startsWith('revoked');
      if ('secret_hashes' in record && isRevoked) found.revokedInRedis.push(record);
    } else if (held === null || held.version < version) {
      found.repaired += 1;
      setVersioned(writes, published);
    } else if (held.member !== member) {
      found.repaired += 1;
      replaced.push(published);
    }
  }
  if (writes.length > 0) await execute(writes);
  for (const published of replaced) await execute(replaceVersioned(redis.multi(), published));
}

function heldOf(answer: unknown): Pick<Published, 'version' | 'member'> | null {
  if (!Array.isArray(answer)) return null;
  const [member, version] = answer as unknown[];
  return typeof member === 'string' ? { member, version: Number(version) } : null;
}

export type PendingAccess = Awaited<ReturnType<typeof findPending>>;

interface PendingRow {
  key?: AccessKey;
  store?: StoreAccess;
  session?: RevokedSession;
}

/** Finds marked records, with one command by nearly empty indexes, since every process polls each second. */
export async function findPending(
  { keys, stores, revokedSessions }: ControlCollections,
  environments: readonly string[],
  signal?: AbortSignal,
) {
  const marked = { publish_pending: true, environment: { $in: [...environments] } } as const;
  const as = (kind: keyof PendingRow) => [{ $match: marked }, { $project: { _id: 0, [kind]: '$$ROOT' } }];
  const rows = await keys
    .aggregate<PendingRow>(
      [
        ...as('key'),
        { $unionWith: { coll: stores.collectionName, pipeline: as('store') } },
        { $unionWith: { coll: revokedSessions.collectionName, pipeline: as('session') } },
      ],
      signal === undefined ? {} : { signal },
    )
    .toArray();
  return {
    keys: rows.flatMap(({ key }) => key ?? []),
    stores: rows.flatMap(({ store }) => store ?? []),
    sessions: rows.flatMap(({ session }) => session ?? []),
  };
}

/** Publishes the records of one server without removing their marks: the query service does not write to MongoDB. */
export async function publishPending(
  master: RedisMaster,
  prefix: string,
  { keys, stores, sessions }: PendingAccess,
): Promise<void> {
  const records = [...keys, ...stores].map((record) => publishedRecord(prefix, record));
  await publishAll(
    master,
    records.filter(({ redisKey }) => master.owns(redisKey)),
  );
  await endOwnSessions(master, prefix, sessions);
}
