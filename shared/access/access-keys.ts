/**
 * Access keys and the blocking of stores: their truth in the control database, and how a change reaches it.
 * Projector and command line share this code, so that both obey the same rules.
 */
import type { ClientSession, Collection, Db, IndexDescription } from 'mongodb';
import type { AccessKeyChange, KeyStatus, Scope, StoreAccessChange } from '../events/access-event.ts';
import { EventRejected } from '../events/rejection.ts';

export interface AccessKey {
  /** The `client_id`. */
  _id: string;
  environment: string;
  store_id: string;
  /** SHA-256 of the secrets, lower-case hex, at most two: those that came last first. */
  secret_hashes: string[];
  /** When secrets end, by hash, in ISO 8601. Nobody removes them then: they do not count any longer. */
  secret_expires_at?: Record<string, string>;
  scopes: Scope[];
  status: KeyStatus;
  sequence: number;
  /** Moves with every change, by `nextVersion`; keeps an older grant in Redis from overtaking a newer one. */
  version: number;
  /** Until Redis has this version: set with the change, removed once published. */
  publish_pending?: true;
  updated_at: Date;
}

export interface StoreAccess {
  /** `<environment>/<store id>` */
  _id: string;
  environment: string;
  store_id: string;
  /** What `store_access` events say, and which. */
  access_status: 'active' | 'blocked';
  access_sequence: number;
  /** What the store's own record says, and which. */
  record_status: 'active' | 'blocked';
  record_sequence: number;
  /** A quota of its own; without `window_seconds` in the configured window. */
  quota?: { requests: number; window_seconds?: number };
  version: number;
  publish_pending?: true;
  updated_at: Date;
}

export interface RevokedSession {
  /** The session's id. */
  _id: string;
  environment: string;
  store_id: string;
  client_id: string;
  revoked_at: Date;
  /** When its token would have expired: MongoDB removes the record then. */
  expires_at: Date;
  /** Until Redis no longer has the session. */
  publish_pending?: true;
}

export interface ControlCollections {
  keys: Collection<AccessKey>;
  stores: Collection<StoreAccess>;
  revokedSessions: Collection<RevokedSession>;
}

/** Empty almost always, so that it can be asked every second. */
const PENDING_INDEX: IndexDescription = {
  name: 'publish_pending',
  key: { publish_pending: 1 },
  partialFilterExpression: { publish_pending: true },
};

const INDEXES: Record<'keys' | 'stores' | 'revokedSessions', IndexDescription[]> = {
  keys: [{ name: 'by_store', key: { environment: 1, store_id: 1, _id: 1 } }, PENDING_INDEX],
  stores: [PENDING_INDEX],
  revokedSessions: [{ name: 'expiry', key: { expires_at: 1 }, expireAfterSeconds: 0 }, PENDING_INDEX],
};

/**
 * The collections of the control database that access is decided by. Read from the primary and from what a majority
 * has, whatever the connection string says: a secondary may not know yet what was revoked.
 */
export function controlCollections(control: Db): ControlCollections {
  const current = { readPreference: 'primary', readConcern: { level: 'majority' } } as const;
  return {
    keys: control.collection('access_keys', current),
    stores: control.collection('store_access', current),
    revokedSessions: control.collection('revoked_sessions', current),
  };
}

/** Creates the control database's indexes. Safe to call from several processes at once. */
export async function createControlIndexes(control: Db): Promise<void> {
  const collections = controlCollections(control);
  await collections.keys.createIndexes(INDEXES.keys);
  await collections.stores.createIndexes(INDEXES.stores);
  await collections.revokedSessions.createIndexes(INDEXES.revokedSessions);
}

/** `_id` of a store's access record. */
export function storeAccessId(environment: string, storeId: string): string {
  return `${environment}/${storeId}`;
}

/** Whether a store is blocked: while either its own record or its `store_access` says so. */
export function isBlocked(store: Pick<StoreAccess, 'access_status' | 'record_status'> | null): boolean {
  return store !== null && (store.access_status === 'blocked' || store.record_status === 'blocked');
}

/**
 * The version after `version`: above it, and not below the time in milliseconds. So a change is newer than all that
 * were ever made, also when MongoDB was restored from a backup and has forgotten some that Redis still knows.
 */
export function nextVersion(version: number): number {
  return Math.max(version + 1, Date.now());
}

/**
 * Applies a key's change to its record, in a transaction if a session is given.
 * A revocation is final and applies whatever its sequence; anything else only above the one last applied.
 * @returns the record as it is now if it changed, else `null`.
 * @throws {EventRejected} `bound_elsewhere` when the `client_id` belongs to another store or environment.
 */
export async function applyKeyChange(
  keys: Collection<AccessKey>,
  environment: string,
  change: AccessKeyChange,
  session?: ClientSession,
): Promise<AccessKey | null> {
  const options = session === undefined ? {} : { session };
  const stored = await keys.findOne({ _id: change.clientId }, options);
  if (stored !== null && (stored.environment !== environment || stored.store_id !== change.storeId)) {
    throw new EventRejected('bound_elsewhere', 'this client_id is bound to another store or environment');
  }
  const newer = change.sequence > (stored?.sequence ?? -1);
  const revokes = change.status === 'revoked';
  if (stored?.status === 'revoked' || (!newer && !revokes)) return null;
  const key: AccessKey = {
    _id: change.clientId,
    environment,
    store_id: change.storeId,
    ...secretsAfter(stored, newer ? change : null),
    scopes: (newer ? change.scopes : null) ?? stored?.scopes ?? [],
    status: change.status,
    sequence: Math.max(change.sequence, stored?.sequence ?? -1),
    version: nextVersion(stored?.version ?? 0),
    publish_pending: true,
    updated_at: new Date(),
  };
  if (stored === null) {
    try {
      await keys.insertOne(key, options);
      return key;
    } catch (error) {
      if (session !== undefined || !isDuplicateKey(error)) throw error;
      return applyKeyChange(keys, environment, change);
    }
  }
  // Against a writer outside this transaction: whoever comes second starts again from what is stored.
  const written = await keys.replaceOne({ _id: key._id, version: stored.version }, withoutId(key), options);
  return written.matchedCount === 1 ? key : applyKeyChange(keys, environment, change, session);
}

/**
 * A key's secrets after a change. A deadline stays with its secret until the secret is gone or gets another one: who
 * sends the whole key again does not know of it.
 */
function secretsAfter(
  stored: AccessKey | null,
  change: Pick<AccessKeyChange, 'secretHashes' | 'secretExpiry'> | null,
): Pick<AccessKey, 'secret_hashes' | 'secret_expires_at'> {
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
    ...(kept.length > 0 ? { secret_expires_at: Object.fromEntries(kept) } : {}),
  };
}

/** The hashes of a key's secrets that count at an instant, those that came last first. */
export function validSecrets(
  {
    secret_hashes: hashes,
    secret_expires_at: expiry,
  }: Pick<AccessKey, 'secret_hashes' | 'secret_expires_at'>,
  now = Date.now(),
): string[] {
  return expiry === undefined
    ? hashes
    : hashes.filter((hash) => {
        const end = expiry[hash];
        return end === undefined || now < Date.parse(end);
      });
}

/** Where a store's blocking comes from: events of the access topic, or the store's own record. */
export type BlockSource = 'access' | 'record';

/**
 * Applies what one source says of a store's blocking.
 * @returns the record as it is now if it changed, else `null`.
 */
export async function applyStoreStatus(
  stores: Collection<StoreAccess>,
  environment: string,
  change: Pick<StoreAccessChange, 'storeId' | 'sequence' | 'status'>,
  source: BlockSource,
  session?: ClientSession,
): Promise<StoreAccess | null> {
  const options = session === undefined ? {} : { session };
  const _id = storeAccessId(environment, change.storeId);
  const stored = await stores.findOne({ _id }, options);
  const base: StoreAccess = stored ?? {
    _id,
    environment,
    store_id: change.storeId,
    access_status: 'active',
    access_sequence: -1,
    record_status: 'active',
    record_sequence: -1,
    version: 0,
    updated_at: new Date(),
  };
  if (change.sequence <= base[`${source}_sequence`]) return null;
  const store: StoreAccess = {
    ...base,
    [`${source}_status`]: change.status,
    [`${source}_sequence`]: change.sequence,
    version: nextVersion(base.version),
    publish_pending: true,
    updated_at: new Date(),
  };
  if (stored === null) {
    try {
      await stores.insertOne(store, options);
      return store;
    } catch (error) {
      if (session !== undefined || !isDuplicateKey(error)) throw error;
      return applyStoreStatus(stores, environment, change, source);
    }
  }
  const written = await stores.replaceOne({ _id, version: stored.version }, withoutId(store), options);
  return written.matchedCount === 1 ? store : applyStoreStatus(stores, environment, change, source, session);
}

function withoutId<T extends { _id: string }>({ _id, ...rest }: T): Omit<T, '_id'> {
  return rest;
}

function isDuplicateKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 11_000;
}
