/**
 * Reconciling a server of Redis with MongoDB: whatever snapshot or replica Redis came back from, afterwards nobody there may do
 * more than MongoDB says. Only what differs is written, and by versions, so that several may do it at once and
 * changes go on meanwhile: who changes something during it publishes it after MongoDB has it.
 */
import type { Collection, Filter } from 'mongodb';
import type { OwnerOfKeys } from '../redis-masters.ts';
import { execute, PIPELINED } from '../redis-pipeline.ts';
import type { AccessKey, ControlCollections, StoreAccess } from './access-keys.ts';
import {
  type GrantedKey,
  type Published,
  publishedBlocking,
  publishedKey,
  replaceVersioned,
  setVersioned,
} from './grants.ts';
import { endOwnSessions } from './sessions.ts';

export interface ReconcileOptions {
  /** Only what it is to hold is compared. */
  master: OwnerOfKeys;
  prefix: string;
  control: ControlCollections;
  environments: readonly string[];
  /** Runs a read from MongoDB, and rejects where it takes too long. */
  bounded: <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Called after each batch; what it throws ends the work. */
  onBatch?: () => Promise<void>;
}

export interface Reconciliation {
  /** Keys and stores that were compared. */
  compared: number;
  /** Of these, how many Redis had older or not at all. */
  repaired: number;
  /** Revoked sessions that were live in Redis. */
  sessionsEnded: number;
  /** What Redis knows newer than MongoDB, which then was restored from a backup; it stays as it is. */
  ahead: number;
  /** Keys that Redis knows as revoked and MongoDB does not: revoked they stay. */
  revokedInRedis: GrantedKey[];
}

interface Held {
  version: number;
  member: string;
}

/** Compares everything and repairs what Redis has older than MongoDB, or not at all. */
export async function reconcileAccess(options: ReconcileOptions): Promise<Reconciliation> {
  const { control, prefix } = options;
  const found: Reconciliation = { compared: 0, repaired: 0, sessionsEnded: 0, ahead: 0, revokedInRedis: [] };
  // First: they are few, and whoever revokes one while this runs ends it in Redis himself.
  found.sessionsEnded = await endRevokedSessions(options);
  await compareAll<AccessKey>(options, control.keys, found, (key) => publishedKey(prefix, key));
  await compareAll<StoreAccess>(options, control.stores, found, (store) => [
    publishedBlocking(prefix, store),
  ]);
  return found;
}

async function endRevokedSessions({
  master,
  prefix,
  control,
  environments,
  bounded,
}: ReconcileOptions): Promise<number> {
  // All that are left: whether one has expired is not for this machine's clock to say.
  const filter = { environment: { $in: [...environments] } };
  const sessions = await bounded((signal) => control.revokedSessions.find(filter, { signal }).toArray());
  return endOwnSessions(master, prefix, sessions);
}

async function compareAll<R extends AccessKey | StoreAccess>(
  options: ReconcileOptions,
  collection: Collection<R>,
  found: Reconciliation,
  publishedOf: (record: R) => Published[],
): Promise<void> {
  const readAfter = (id: string) => readBatch(options, collection, id);
  let reading = readAfter('');
  for (;;) {
    const records = await reading;
    const last = records.at(-1);
    if (last === undefined) return;
    // MongoDB reads the next ones while Redis answers for these.
    reading = readAfter(last._id);
    reading.catch(() => undefined);
    await compareBatch(options.master, records, found, publishedOf);
    await options.onBatch?.();
  }
}

/** By `_id` and not with a cursor, so that each batch has a time limit of its own. */
async function readBatch<R extends AccessKey | StoreAccess>(
  { environments, bounded }: ReconcileOptions,
  collection: Collection<R>,
  after: string,
): Promise<R[]> {
  const filter = { _id: { $gt: after }, environment: { $in: [...environments] } } as Filter<R>;
  return bounded(
    async (signal) =>
      (await collection.find(filter, { signal }).sort({ _id: 1 }).limit(PIPELINED).toArray()) as R[],
  );
}

async function compareBatch<R extends AccessKey | StoreAccess>(
  { redis, owns }: OwnerOfKeys,
  records: readonly R[],
  found: Reconciliation,
  publishedOf: (record: R) => Published[],
): Promise<void> {
  const wanted = records
    .map((record) => ({ record, published: publishedOf(record).filter(({ redisKey }) => owns(redisKey)) }))
    .filter(({ published }) => published.length > 0);
  const reads = redis.pipeline();
  for (const { redisKey } of wanted.flatMap(({ published }) => published)) {
    reads.zrange(redisKey, '0', '0', 'REV', 'WITHSCORES');
  }
  const answers = (await execute(reads)).map(heldOf);
  const writes = redis.pipeline();
  const replaced: Published[] = [];
  for (const { record, published } of wanted) {
    const held = answers.splice(0, published.length);
    const pairs = published.map((one, index) => ({ one, there: held[index] ?? null }));
    const ahead = pairs.filter(({ one, there }) => there !== null && there.version > one.version);
    const behind = pairs.filter(({ one, there }) => isOlderOrOther(there, one));
    found.compared += 1;
    // A client's record has the version of its grant, and may begin with a store of any name.
    const newer = ahead.find(({ one }) => one.isClient !== true)?.there;
    if (newer !== undefined && newer !== null) {
      found.ahead += 1;
      const isRevoked = newer.member.startsWith('revoked');
      if ('secret_hashes' in record && isRevoked) found.revokedInRedis.push(record);
    }
    if (behind.length > 0) found.repaired += 1;
    for (const { one, there } of behind) {
      if (there?.version === one.version) replaced.push(one);
      else setVersioned(writes, one.redisKey, one.version, one.member);
    }
  }
  if (writes.length > 0) await execute(writes);
  for (const { redisKey, version, member } of replaced) {
    await execute(replaceVersioned(redis.multi(), redisKey, version, member));
  }
}

function isOlderOrOther(held: Held | null, { version, member }: Published): boolean {
  return held === null || held.version < version || (held.version === version && held.member !== member);
}

function heldOf(answer: unknown): Held | null {
  if (!Array.isArray(answer)) return null;
  const [member, version] = answer as unknown[];
  return typeof member === 'string' ? { member, version: Number(version) } : null;
}
