/**
 * Access in Redis: a key's rights (grant), a store's state, a session for each issued token; and
 * its reconciling with MongoDB. Grants and states are sorted sets of one member, scored by its
 * version: a late write with an older version removes itself.
 */
import { randomBytes } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import type { Collection } from 'mongodb';
import { type KeyStatus, type OwnQuota, type Scope, SCOPES } from '../events/access-event.ts';
import {
  type RedisMaster,
  pipelined,
  type RedisRouter,
  execute,
  PIPELINED,
} from '../redis-masters.ts';
import {
  type AccessKey,
  type AccessRecord,
  collectionOf,
  type ControlCollections,
  isBlocked,
  isKey,
  type RevokedSession,
  type StoreAccess,
} from './access-keys.ts';

interface Grant {
  status: KeyStatus;
  /** In the order of `SCOPES`. */
  scopes: Scope[];
}

/** A grant as the member of its sorted set: `active store crm`. */
export function encodeGrant(grant: Grant): string {
  return [grant.status, ...grant.scopes].join(' ');
}

export function decodeGrant(member: string | undefined): Grant | null {
  if (member === undefined) return null;
  const [status, ...scopes] = member.split(' ');
  if (status !== 'active' && status !== 'inactive' && status !== 'revoked') return null;
  return { status, scopes: SCOPES.filter((scope) => scopes.includes(scope)) };
}

/**
 * `GT` protects a member that came back with a newer version. Readers take the highest (decision
 * 0041).
 */
export function setVersioned(
  multi: ChainableCommander,
  { redisKey, version, member }: Published,
): ChainableCommander {
  return multi.zadd(redisKey, 'GT', version, member).zremrangebyrank(redisKey, 0, -2);
}

/**
 * For a member that none of our processes wrote: with two members of one version the wrong one
 * could win. A newer version stays.
 */
export function replaceVersioned(
  multi: ChainableCommander,
  published: Published,
): ChainableCommander {
  const { redisKey, version } = published;
  return setVersioned(multi.zremrangebyscore(redisKey, version, version), published);
}

interface Published {
  redisKey: string;
  version: number;
  member: string;
}

/** Above every version: no later write can give a revoked key its rights back. */
const FINAL_VERSION = Number.MAX_SAFE_INTEGER;

export type GrantedKey = Pick<
  AccessKey,
  '_id' | 'environment' | 'store_id' | 'status' | 'scopes' | 'version'
>;

export function publishedKey(prefix: string, key: GrantedKey): Published {
  const version = key.status === 'revoked' ? FINAL_VERSION : key.version;
  const { grant } = redisKeys(prefix, key.environment, key.store_id);
  return { redisKey: grant(key._id), version, member: encodeGrant(key) };
}

function publishedRecord(prefix: string, record: AccessRecord): Published {
  if (isKey(record)) return publishedKey(prefix, record);
  return publishedState(prefix, record.environment, record.store_id, record);
}

/**
 * A store's state. Without a record it is active, with version 0, which every real version
 * replaces.
 */
export function publishedState(
  prefix: string,
  environment: string,
  storeId: string,
  store: StoreAccess | null,
): Published {
  return {
    redisKey: redisKeys(prefix, environment, storeId).storeAccess,
    version: store?.version ?? 0,
    member: encodeStoreState({ blocked: isBlocked(store), quota: store?.quota ?? null }),
  };
}

export async function publishAll(redis: RedisRouter, records: readonly Published[]): Promise<void> {
  await pipelined(redis, records, ({ redisKey }) => redisKey, setVersioned);
}

/** Publishes a record, and removes its mark in MongoDB unless a newer version came meanwhile. */
export async function publishAccess(
  redis: RedisRouter,
  prefix: string,
  collections: ControlCollections,
  record: AccessRecord,
): Promise<void> {
  await publishAll(redis, [publishedRecord(prefix, record)]);
  const { _id, version } = record;
  await collectionOf(collections, record).updateOne(
    { _id, version },
    { $unset: { publish_pending: '' } },
  );
}

export function redisKeys(prefix: string, environment: string, storeId: string) {
  const tag = `${prefix}:{${storeId}:${environment}}`;
  return {
    session: (sessionId: string) => `${tag}:session:${sessionId}`,
    /** The sessions of a key that are live, scored by when they end, in milliseconds since 1970. */
    tokens: (clientId: string) => `${tag}:tokens:${clientId}`,
    grant: (clientId: string) => `${tag}:grant:${clientId}`,
    /**
     * The keys of the store, scored by when each last obtained a token, in milliseconds since 1970.
     */
    lastTokens: `${tag}:last-tokens`,
    storeAccess: `${tag}:store-access`,
    /** The count of a window, by its length; with `''` the beginning of such names. */
    quota: (windowSeconds: number | '') => `${tag}:quota:${windowSeconds}`,
  };
}

export function heartbeatKey(prefix: string, instance: string): string {
  return `${prefix}:trail:${instance}`;
}

interface StoreState {
  blocked: boolean;
  /** `null` if the configured quota holds. */
  quota: OwnQuota;
}

export function encodeStoreState({ blocked, quota }: StoreState): string {
  const { requests, window_seconds } = quota ?? {};
  return [blocked ? 'blocked' : 'active', requests, window_seconds]
    .filter((word) => word !== undefined)
    .join(' ');
}

const MEMBER = /^(?<status>active|blocked)(?: (?<requests>\d{1,15})(?: (?<window>\d{1,15}))?)?$/;

export function decodeStoreState(member: string | undefined): StoreState | null {
  const groups = member === undefined ? undefined : MEMBER.exec(member)?.groups;
  if (groups === undefined) return null;
  const { status, requests, window } = groups;
  const ownWindow = window === undefined ? {} : { window_seconds: Number(window) };
  return {
    blocked: status === 'blocked',
    quota: requests === undefined ? null : { requests: Number(requests), ...ownWindow },
  };
}

export function newSessionId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Once noted, the revocation reaches Redis even if this process is killed.
 * @returns whether it was noted before.
 */
export async function noteRevocation(
  revoked: Collection<RevokedSession>,
  { _id, ...owner }: RevokedSessionId,
  expires_at: Date,
): Promise<boolean> {
  const noted = { ...owner, revoked_at: new Date(), expires_at, publish_pending: true } as const;
  const { matchedCount } = await revoked.updateOne({ _id }, { $set: noted }, { upsert: true });
  return matchedCount > 0;
}

type RevokedSessionId = Pick<RevokedSession, '_id' | 'environment' | 'store_id' | 'client_id'>;

function sessionKey(prefix: string, { _id, environment, store_id }: RevokedSessionId): string {
  return redisKeys(prefix, environment, store_id).session(_id);
}

/**
 * Ends sessions in Redis, which frees their places among the key's tokens.
 * @returns how many were live.
 */
async function endSessions(
  redis: RedisRouter,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const keyOf = (session: RevokedSessionId) => sessionKey(prefix, session);
  const answers = await pipelined(redis, sessions, keyOf, (commands, session) => {
    const { _id, environment, store_id, client_id } = session;
    // On the same node: all keys of a store are.
    const { tokens } = redisKeys(prefix, environment, store_id);
    commands.del(keyOf(session)).zrem(tokens(client_id), _id);
  });
  return answers.filter((count, index) => index % 2 === 0 && count === 1).length;
}

function endOwnSessions(
  master: RedisMaster,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const own = sessions.filter((session) => master.owns(sessionKey(prefix, session)));
  return endSessions(master, prefix, own);
}

/**
 * Ends a session in Redis after its revocation was noted, for every instance.
 * @returns whether it was live.
 */
export async function endRevokedSession(
  redis: RedisRouter,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: RevokedSessionId,
): Promise<boolean> {
  const ended = await endSessions(redis, prefix, [session]);
  await revoked.updateOne({ _id: session._id }, { $unset: { publish_pending: '' } });
  return ended === 1;
}

interface ReconcileOptions {
  master: RedisMaster;
  prefix: string;
  control: ControlCollections;
  environments: readonly string[];
  /** Runs a read from MongoDB, and rejects if it takes too long. */
  bounded: <T>(read: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  /** Ends the work after a batch. */
  signal: AbortSignal;
}

type Reconciliation = ReturnType<typeof newReconciliation>;

export function newReconciliation() {
  return {
    compared: 0,
    /** How many of them Redis had older or not at all. */
    repaired: 0,
    sessionsEnded: 0,
    /** How many Redis has newer than MongoDB, which then was restored from a backup. They stay. */
    ahead: 0,
    /** Keys that are revoked in Redis and not in MongoDB: they stay revoked. */
    revokedInRedis: [] as GrantedKey[],
  };
}

/**
 * No key keeps more rights in a Redis server than in MongoDB. Only differences are written, by version.
 * @param found is filled as the work proceeds: an interrupted reconciliation has repaired something too.
 */
export async function reconcileAccess(
  options: ReconcileOptions,
  found: Reconciliation,
): Promise<void> {
  const { master, control, prefix, environments } = options;
  // First, since they are few. A command that revokes one meanwhile ends it in Redis itself.
  // Also those that have expired by this machine's clock, which may be wrong.
  const filter = { environment: { $in: [...environments] } };
  const revoked = await options.bounded((signal) =>
    control.revokedSessions.find(filter, { signal }).toArray(),
  );
  found.sessionsEnded += await endOwnSessions(master, prefix, revoked);
  for (const collection of [control.keys, control.stores]) {
    await compareAll(options, collection as unknown as Collection<AccessRecord>, found);
  }
}

async function compareAll(
  options: ReconcileOptions,
  collection: Collection<AccessRecord>,
  found: Reconciliation,
) {
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
) {
  const filter = { _id: { $gt: after }, environment: { $in: [...environments] } };
  return bounded((signal) =>
    collection.find(filter, { signal }).sort({ _id: 1 }).limit(PIPELINED).toArray(),
  );
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
  for (const { published } of wanted)
    reads.zrange(published.redisKey, '0', '0', 'REV', 'WITHSCORES');
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
      if (isKey(record) && isRevoked) found.revokedInRedis.push(record);
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

/**
 * Finds marked records, with one command by nearly empty indexes, since every process polls each
 * second.
 */
export async function findPending(
  { keys, stores, revokedSessions }: ControlCollections,
  environments: readonly string[],
  signal?: AbortSignal,
) {
  const marked = { publish_pending: true, environment: { $in: [...environments] } } as const;
  const as = (kind: keyof PendingRow) => [
    { $match: marked },
    { $project: { _id: 0, [kind]: '$$ROOT' } },
  ];
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

/**
 * Publishes the records of one server without removing their marks: the query service does not
 * write to MongoDB.
 */
export async function publishPending(
  master: RedisMaster,
  prefix: string,
  { keys, stores, sessions }: PendingAccess,
) {
  const records = [...keys, ...stores].map((record) => publishedRecord(prefix, record));
  await publishAll(
    master,
    records.filter(({ redisKey }) => master.owns(redisKey)),
  );
  await endOwnSessions(master, prefix, sessions);
}
