/**
 * Access keys and the blocking of stores in the control database: the rules that projector and
 * command line share.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  ClientSession,
  Collection,
  Db,
  Filter,
  IndexDescription,
  OptionalUnlessRequiredId,
  UpdateFilter,
} from 'mongodb';
import { hasCode } from '../errors.ts';
import type {
  AccessKeyChange,
  KeyStatus,
  OwnQuota,
  Scope,
  StoreAccessChange,
  StoreErasureChange,
  StoreQuotaChange,
} from '../events/access-event.ts';
import { LAST_SEQUENCE } from '../events/cloud-event.ts';
import { EventRejected } from '../events/rejection.ts';
import type { LastMessage } from '../projection/slice/checkpoint.ts';

export interface AccessKey {
  /** The `client_id`. */
  _id: string;
  environment: string;
  store_id: string;
  /** SHA-256 of the secrets, lower-case hex, at most two: those that came last first. */
  secret_hashes: string[];
  /** When secrets end, by hash, in ISO 8601. An ended secret stays in the record and is ignored. */
  secret_expires_at?: Record<string, string>;
  scopes: Scope[];
  status: KeyStatus;
  sequence: number;
  /**
   * At the last sequence: the rights of the first event with it. Others may only take away from
   * them (decision 0039).
   */
  widest?: KeyRights;
  /**
   * Moves with every change, by `nextVersion`; keeps an older grant in Redis from overtaking a
   * newer one.
   */
  version: number;
  /** Until Redis has this version: set with the change, removed once published. */
  publish_pending?: true;
  /** A command changed it, and the log does not have that yet: the next command publishes it. */
  event_pending?: true;
  updated_at: Date;
}

type KeyRights = Pick<AccessKey, 'scopes' | 'secret_hashes'>;

export interface StoreAccess {
  /** `<environment>/<store id>` */
  _id: string;
  environment: string;
  store_id: string;
  /** The status by `store_access` events, and the sequence of the last one. */
  access_status: 'active' | 'blocked';
  access_sequence: number;
  /** The status by the store's own record, and its sequence. */
  record_status: 'active' | 'blocked';
  record_sequence: number;
  /** Its own quota; without `window_seconds` it holds for the configured window. */
  quota?: NonNullable<OwnQuota>;
  /** Of the last change of the quota; absent if the store never had one. */
  quota_sequence?: number;
  /** The store was erased whole (`erased-stores.ts`). */
  erased?: StoreErasure;
  version: number;
  publish_pending?: true;
  event_pending?: true;
  updated_at: Date;
}

/** An erased store: its messages from before the end of the erasure are never applied again. */
export interface StoreErasure {
  /** When it ended; while it is under way, when it began. */
  at: Date;
  /** Counts the store's erasures. */
  sequence: number;
  /** Set while the ends are being read: other processes wait for them. */
  closing_at?: Date;
  /**
   * Where its topics' partitions ended. Absent while it is under way: no message of the store is
   * applied.
   */
  ends?: PartitionEnd[];
}

export interface PartitionEnd {
  topic: string;
  partition: number;
  /** Messages with a lower offset are from before the erasure. */
  end: number;
  /** One of the last messages before the end, which identifies the log. */
  last: LastMessage;
  /** The topic holds another log now, whose offsets mean something else: the end does not count. */
  other_log?: true;
}

export interface RevokedSession {
  _id: string;
  environment: string;
  store_id: string;
  client_id: string;
  revoked_at: Date;
  /** When its token would have expired: MongoDB removes the record then. */
  expires_at: Date;
  publish_pending?: true;
}

export type AccessRecord = AccessKey | StoreAccess;

export function isKey(record: AccessRecord): record is AccessKey {
  return 'secret_hashes' in record;
}

/** An index of marked records: nearly always empty, so that every process can poll it each second. */
const indexOf = (name: 'publish_pending' | 'event_pending'): IndexDescription => ({
  name,
  key: { [name]: 1 },
  partialFilterExpression: { [name]: true },
});

/** The transaction of a slice, or a command, whose change the log does not have yet. */
interface Cause {
  session?: ClientSession;
  event_pending?: true;
}

/**
 * Read from the primary by majority, whatever the connection string says: a secondary may lack a
 * revocation.
 */
export function controlCollections(control: Db) {
  const current = { readPreference: 'primary', readConcern: { level: 'majority' } } as const;
  return {
    keys: control.collection<AccessKey>('access_keys', current),
    stores: control.collection<StoreAccess>('store_access', current),
    revokedSessions: control.collection<RevokedSession>('revoked_sessions', current),
  };
}

export type ControlCollections = ReturnType<typeof controlCollections>;

export function collectionOf(
  { keys, stores }: ControlCollections,
  record: AccessRecord,
): Collection<AccessRecord> {
  return (isKey(record) ? keys : stores) as unknown as Collection<AccessRecord>;
}

/** Creates the control database's indexes. Safe to call from several processes at once. */
export async function createControlIndexes(control: Db): Promise<void> {
  const { keys, stores, revokedSessions } = controlCollections(control);
  await keys.createIndexes([
    { name: 'by_store', key: { environment: 1, store_id: 1, _id: 1 } },
    indexOf('publish_pending'),
    indexOf('event_pending'),
  ]);
  await stores.createIndexes([indexOf('publish_pending'), indexOf('event_pending')]);
  await revokedSessions.createIndexes([
    { name: 'expiry', key: { expires_at: 1 }, expireAfterSeconds: 0 },
    indexOf('publish_pending'),
  ]);
}

export function storeAccessId(environment: string, storeId: string): string {
  return `${environment}/${storeId}`;
}

export function isBlocked(
  store: Pick<StoreAccess, 'access_status' | 'record_status'> | null,
): boolean {
  return store !== null && (store.access_status === 'blocked' || store.record_status === 'blocked');
}

/**
 * Above `version` and at least the time: newer than changes that a restored MongoDB has lost and
 * Redis still has.
 */
export function nextVersion(version: number): number {
  return Math.max(version + 1, Date.now());
}

/**
 * A revocation is final and applies whatever its sequence. Other changes apply above the last
 * sequence; at 2^53−1 also if they only take away. @returns the changed record, or `null`. @throws
 * {EventRejected} `bound_elsewhere`.
 */
export async function applyKeyChange(
  keys: Collection<AccessKey>,
  environment: string,
  change: KeyChange,
  cause: Cause = {},
): Promise<AccessKey | null> {
  return changeRecord<AccessKey>(keys, change.clientId, cause, (stored) => {
    if (
      stored !== null &&
      (stored.environment !== environment || stored.store_id !== change.storeId)
    ) {
      throw new EventRejected(
        'bound_elsewhere',
        'this client_id is bound to another store or environment',
      );
    }
    const content = contentAfter(stored, change);
    if (content === null) return null;
    return {
      _id: change.clientId,
      environment,
      store_id: change.storeId,
      ...content,
      sequence: Math.max(change.sequence, stored?.sequence ?? -1),
    };
  });
}

/** The fields of a record that every change of it writes. */
function writtenWith(
  stored: AccessRecord | null,
  marks: Omit<Cause, 'session'>,
): Pick<AccessRecord, 'version' | 'publish_pending' | 'event_pending' | 'updated_at'> {
  return {
    version: nextVersion(stored?.version ?? 0),
    publish_pending: true,
    ...(stored?.event_pending === undefined ? marks : { event_pending: true }),
    updated_at: new Date(),
  };
}

const DUPLICATE_KEY = 11_000;

/**
 * Outside of a transaction a record that another process writes meanwhile is read again.
 * @param next returns `null` for no change.
 */
async function changeRecord<R extends AccessRecord>(
  collection: Collection<R>,
  _id: string,
  { session, ...marks }: Cause,
  next: (stored: R | null) => Omit<R, 'version' | 'updated_at'> | null,
): Promise<R | null> {
  const options = session === undefined ? {} : { session };
  for (;;) {
    const stored = (await collection.findOne({ _id } as Filter<R>, options)) as R | null;
    const content = next(stored);
    if (content === null) return null;
    const record = { ...content, ...writtenWith(stored, marks) } as unknown as R;
    if (stored !== null) {
      const filter = { _id, version: stored.version } as Filter<R>;
      const { matchedCount } = await collection.replaceOne(filter, record, options);
      if (matchedCount === 1) return record;
      continue;
    }
    try {
      await collection.insertOne(record as OptionalUnlessRequiredId<R>, options);
      return record;
    } catch (error) {
      if (session !== undefined || !hasCode(error, DUPLICATE_KEY)) throw error;
    }
  }
}

function changeStore(
  stores: Collection<StoreAccess>,
  environment: string,
  storeId: string,
  cause: Cause,
  next: (store: StoreAccess) => StoreAccess | null,
): Promise<StoreAccess | null> {
  return changeRecord<StoreAccess>(stores, storeAccessId(environment, storeId), cause, (stored) =>
    next(stored ?? unknownStore(environment, storeId)),
  );
}

type KeyChange = Omit<AccessKeyChange, 'kind' | 'source' | 'eventId'>;
type KeyContent = KeyRights & Pick<AccessKey, 'secret_expires_at' | 'status' | 'widest'>;

function contentAfter(stored: AccessKey | null, change: KeyChange): KeyContent | null {
  if (stored?.status === 'revoked') return null;
  const newer = change.sequence > (stored?.sequence ?? -1);
  if (newer || change.status === 'revoked') {
    const rights = {
      ...secretsAfter(stored, newer ? change : null),
      scopes: (newer ? change.scopes : null) ?? stored?.scopes ?? [],
    };
    const { scopes, secret_hashes } = rights;
    const isLast = change.sequence === LAST_SEQUENCE;
    return {
      ...rights,
      status: change.status,
      ...(isLast && { widest: { scopes, secret_hashes } }),
    };
  }
  return stored !== null && change.sequence === LAST_SEQUENCE ? narrowed(stored, change) : null;
}

/**
 * A second event with the last sequence: the key keeps the rights that both give, so that their
 * order does not matter. An active event with more rights than the first one does not apply.
 * @returns `null` if nothing is taken away.
 */
function narrowed(stored: AccessKey, change: KeyChange): KeyContent | null {
  const scopes = change.scopes ?? [];
  const hashes = change.secretHashes ?? [];
  const widest = stored.widest ?? { scopes: stored.scopes, secret_hashes: stored.secret_hashes };
  const takesOnly =
    scopes.every((scope) => widest.scopes.includes(scope)) &&
    hashes.every((hash) => widest.secret_hashes.includes(hash));
  if (change.status === 'active' && !takesOnly) return null;
  const { status, secret_expires_at: formerEnds = {} } = stored;
  const secret_hashes = stored.secret_hashes.filter((hash) => hashes.includes(hash));
  const ends = earliestEnds(formerEnds, change.secretExpiry, secret_hashes);
  const remaining = {
    status: change.status === 'active' ? status : change.status,
    scopes: stored.scopes.filter((scope) => scopes.includes(scope)),
    secret_hashes,
  };
  const former = { status, scopes: stored.scopes, secret_hashes: stored.secret_hashes };
  if (isDeepStrictEqual([remaining, ends], [former, formerEnds])) return null;
  return {
    ...remaining,
    ...(Object.keys(ends).length > 0 && { secret_expires_at: ends }),
    widest,
  };
}

function earliestEnds(
  some: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
  hashes: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    hashes.flatMap((hash) => {
      const [earliest] = [some[hash], others[hash]]
        .filter((end) => end !== undefined)
        .toSorted((one, other) => Date.parse(one) - Date.parse(other));
      return earliest === undefined ? [] : [[hash, earliest]];
    }),
  );
}

/** A deadline stays with its secret: publishers that send the whole key again do not know it. */
function secretsAfter(
  stored: AccessKey | null,
  change: Pick<KeyChange, 'secretHashes' | 'secretExpiry'> | null,
): Pick<KeyContent, 'secret_hashes' | 'secret_expires_at'> {
  const before = stored?.secret_hashes ?? [];
  const given = change?.secretHashes ?? before;
  const hashes = [
    ...given.filter((hash) => !before.includes(hash)),
    ...before.filter((hash) => given.includes(hash)),
  ];
  const expiry = { ...stored?.secret_expires_at, ...change?.secretExpiry };
  const kept = Object.entries(expiry).filter(([hash]) => hashes.includes(hash));
  return {
    secret_hashes: hashes,
    ...(kept.length > 0 && { secret_expires_at: Object.fromEntries(kept) }),
  };
}

export function validSecrets({
  secret_hashes,
  secret_expires_at: ends = {},
}: Pick<AccessKey, 'secret_hashes' | 'secret_expires_at'>): string[] {
  const now = Date.now();
  return secret_hashes.filter((hash) => {
    const end = ends[hash];
    return end === undefined || now < Date.parse(end);
  });
}

type BlockSource = 'access' | 'record';

/** Applies the status of a store by one source. @returns the changed record, or `null`. */
export async function applyStoreStatus(
  stores: Collection<StoreAccess>,
  environment: string,
  change: StatusChange,
  source: BlockSource,
  cause: Cause = {},
): Promise<StoreAccess | null> {
  return changeStore(stores, environment, change.storeId, cause, (store) =>
    storeAfter(store, change, source),
  );
}

type StatusChange = Pick<StoreAccessChange, 'storeId' | 'sequence' | 'status'>;

function storeAfter(
  store: StoreAccess,
  change: StatusChange,
  source: BlockSource,
): StoreAccess | null {
  const { status, sequence } = change;
  const isNewer = sequence > store[`${source}_sequence`];
  // At the last sequence an access event with the same sequence may still block.
  const blocks =
    source === 'access' &&
    sequence === LAST_SEQUENCE &&
    status === 'blocked' &&
    store.access_status === 'active';
  if (!isNewer && !blocks) return null;
  return { ...store, [`${source}_status`]: status, [`${source}_sequence`]: sequence };
}

/** Applies the status of the own records of many stores, each named once, with two commands. */
export async function applyRecordStatuses(
  stores: Collection<StoreAccess>,
  environment: string,
  changes: readonly StatusChange[],
): Promise<void> {
  const ids = changes.map(({ storeId }) => storeAccessId(environment, storeId));
  const found = await stores.find({ _id: { $in: ids } }, { batchSize: ids.length + 1 }).toArray();
  const stored = new Map(found.map((store) => [store._id, store]));
  const operations = changes.flatMap((change, at) => {
    const before = stored.get(ids[at] ?? '') ?? null;
    const after = storeAfter(before ?? unknownStore(environment, change.storeId), change, 'record');
    if (after === null) return [];
    const { _id, ...replacement } = { ...after, ...writtenWith(before, {}) };
    const filter = { _id, version: before?.version ?? { $exists: false } };
    return { replaceOne: { filter, replacement, upsert: before === null } };
  });
  if (operations.length === 0) return;
  const written = await stores.bulkWrite(operations, { ordered: false }).catch((error: unknown) => {
    if (hasCode(error, DUPLICATE_KEY)) return null;
    throw error;
  });
  if (written !== null && written.matchedCount + written.upsertedCount === operations.length)
    return;
  // Another process changed or made some of them meanwhile.
  for (const change of changes) await applyStoreStatus(stores, environment, change, 'record');
}

function unknownStore(environment: string, storeId: string): StoreAccess {
  return {
    _id: storeAccessId(environment, storeId),
    environment,
    store_id: storeId,
    access_status: 'active',
    access_sequence: -1,
    record_status: 'active',
    record_sequence: -1,
    version: 0,
    updated_at: new Date(),
  };
}

export async function applyQuota(
  stores: Collection<StoreAccess>,
  environment: string,
  { storeId, sequence, quota }: Pick<StoreQuotaChange, 'storeId' | 'sequence' | 'quota'>,
  cause: Cause,
): Promise<StoreAccess | null> {
  return changeStore(stores, environment, storeId, cause, ({ quota: _former, ...store }) => {
    if (sequence <= (store.quota_sequence ?? -1)) return null;
    return { ...store, ...(quota !== null && { quota }), quota_sequence: sequence };
  });
}

/**
 * Restores the note of an erasure from the log, if MongoDB lost it: older events are not
 * applied. Stored documents stay.
 */
export async function applyErasure(
  { keys, stores }: ControlCollections,
  environment: string,
  change: Pick<StoreErasureChange, 'storeId' | 'sequence' | 'at'> & { ends: PartitionEnd[] },
  session: ClientSession,
): Promise<StoreAccess | null> {
  const { storeId, sequence, at, ends } = change;
  const changed = await changeStore(
    stores,
    environment,
    storeId,
    { session },
    ({ quota: _quota, ...store }) => {
      // An erasure that is under way has no sequence yet.
      if (sequence <= (store.erased?.sequence ?? -1)) return null;
      // The store's status stays; the next record replaces it, whatever its sequence.
      return { ...store, record_sequence: -1, erased: { at, sequence, ends } };
    },
  );
  if (changed === null) return null;
  await keys.updateMany({ environment, store_id: storeId, status: 'revoked' }, WITHOUT_RIGHTS, {
    session,
  });
  return changed;
}

/** Removes all rights from the keys of an erased store; they stay revoked. */
export const WITHOUT_RIGHTS: UpdateFilter<AccessKey> = {
  $set: { scopes: [], secret_hashes: [] },
  $unset: { secret_expires_at: '', widest: '' },
};
