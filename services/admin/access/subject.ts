/** What commands change of access: a key, whether a store is blocked, or its quota; how each is read, written and published. */
import type { Db } from 'mongodb';
import {
  type AccessKey,
  applyKeyChange,
  applyQuota,
  applyStoreStatus,
  controlCollections,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import type { AuditDetails } from '#shared/access/audit.ts';
import { publishAccess, redisKeys } from '#shared/access/grants.ts';
import { commandInvalid, notFound } from '#shared/errors.ts';
import { type KeyStatus, type OwnQuota, type Scope, SCOPES } from '#shared/events/access-event.ts';
import type { RedisRouter } from '#shared/redis-masters.ts';

/** A key as an event describes it, and to whom it belongs. */
export interface AccessKeyData {
  environment: string;
  store_id: string;
  /** Those that came last first. */
  secret_sha256: string[];
  scopes: Scope[];
  status: KeyStatus;
  /** When secrets end, by hash, in ISO 8601. */
  secret_expires_at?: Record<string, string>;
}

/** What `store_access` says of a store. */
export interface StoreAccessData {
  status: 'active' | 'blocked';
}

/** Of a key or a store. */
export type AccessRecord = AccessKey | StoreAccess;

/** One thing that commands change: its state `S`, in the record `R`. */
export interface Subject<S, R> {
  /** For messages: `key abc`. */
  name: string;
  read: () => Promise<R | null>;
  /** `null` where nothing was said yet. */
  stateOf: (record: R | null) => { state: S | null; sequence: number };
  environmentOf: (state: S) => string;
  /** Whether the second state allows anything that the first does not. */
  givesRights: (from: S | null, to: S) => boolean;
  /** For messages: what can still become of it at the last sequence. */
  atTheLast: string;
  /** Writes a state to MongoDB, marked for the log; `null` when something as new is there. */
  write: (sequence: number, state: S) => Promise<R | null>;
  publish: (redis: RedisRouter, record: R) => Promise<void>;
  /** Where Redis has the record. */
  redisKey: (record: R) => string;
  /** The state as the audit may show it: how many secrets there are, never their hashes. */
  audited: (state: S) => AuditDetails;
}

const MARKED = { event_pending: true } as const;

/** The subject of one `client_id`, whether it exists or is to be made. */
export function keySubject(control: Db, prefix: string, clientId: string): Subject<AccessKeyData, AccessKey> {
  const { keys } = controlCollections(control);
  return {
    name: `key ${clientId}`,
    read: () => keys.findOne({ _id: clientId }),
    stateOf: (key) => ({
      sequence: Math.max(0, key?.sequence ?? 0),
      state: key === null ? null : keyData(key),
    }),
    environmentOf: ({ environment }) => environment,
    givesRights: (from, to) =>
      to.status !== 'revoked' &&
      ((to.status === 'active' && from?.status !== 'active') ||
        to.scopes.some((scope) => from?.scopes.includes(scope) !== true) ||
        to.secret_sha256.some((hash) => from?.secret_sha256.includes(hash) !== true)),
    atTheLast: 'narrowed, deactivated or revoked',
    write: (sequence, state) =>
      applyKeyChange(
        keys,
        state.environment,
        {
          kind: 'access_key',
          clientId,
          storeId: state.store_id,
          sequence,
          source: '',
          eventId: '',
          secretHashes: state.secret_sha256,
          secretExpiry: state.secret_expires_at ?? {},
          scopes: SCOPES.filter((scope) => state.scopes.includes(scope)),
          status: state.status,
        },
        undefined,
        MARKED,
      ),
    publish: (redis, key) => publishAccess(redis, prefix, { key, keys }),
    redisKey: (key) => redisKeys(prefix, key.environment, key.store_id).grant(clientId),
    audited: ({ status, scopes, secret_sha256: hashes, secret_expires_at: expiry }) => {
      const [end] = Object.values(expiry ?? {});
      const secrets = { secrets: hashes.length, ...(end === undefined ? {} : { old_secret_ends_at: end }) };
      return { status, scopes, ...secrets };
    },
  };
}

/** A key's record as an event says it. */
export function keyData(key: AccessKey): AccessKeyData {
  return {
    environment: key.environment,
    store_id: key.store_id,
    secret_sha256: key.secret_hashes,
    scopes: key.scopes,
    status: key.status,
    ...(key.secret_expires_at === undefined ? {} : { secret_expires_at: key.secret_expires_at }),
  };
}

function ofStore(control: Db, prefix: string, environment: string, storeId: string) {
  const { stores } = controlCollections(control);
  return {
    stores,
    subject: {
      name: `store ${storeId} in ${environment}`,
      read: () => stores.findOne({ _id: storeAccessId(environment, storeId) }),
      environmentOf: () => environment,
      publish: (redis: RedisRouter, store: StoreAccess) => publishAccess(redis, prefix, { store, stores }),
      redisKey: () => redisKeys(prefix, environment, storeId).storeAccess,
    },
  };
}

/** The subject of what `store_access` says of one store in one environment, whether its record is there or not. */
export function storeSubject(
  control: Db,
  prefix: string,
  environment: string,
  storeId: string,
): Subject<StoreAccessData, StoreAccess> {
  const { stores, subject } = ofStore(control, prefix, environment, storeId);
  return {
    ...subject,
    stateOf: (store) => ({
      sequence: Math.max(0, store?.access_sequence ?? 0),
      state: store === null ? null : { status: store.access_status },
    }),
    givesRights: (from, to) => to.status === 'active' && from?.status !== 'active',
    atTheLast: 'blocked',
    write: (sequence, { status }) =>
      applyStoreStatus(stores, environment, { storeId, sequence, status }, 'access', undefined, MARKED),
    audited: ({ status }) => ({ status }),
  };
}

/** The subject of a store's own quota; without one the configured quota holds. */
export function quotaSubject(
  control: Db,
  prefix: string,
  environment: string,
  storeId: string,
): Subject<{ quota: OwnQuota }, StoreAccess> {
  const { stores, subject } = ofStore(control, prefix, environment, storeId);
  return {
    ...subject,
    name: `the quota of ${subject.name}`,
    stateOf: (store) => ({ sequence: store?.quota_sequence ?? 0, state: { quota: store?.quota ?? null } }),
    // It decides how many requests pass, never which.
    givesRights: () => false,
    atTheLast: '',
    write: (sequence, { quota }) =>
      applyQuota(stores, environment, { storeId, sequence, quota }, undefined, MARKED),
    audited: () => ({}),
  };
}

/** @throws {StoreDataError} `not_found`, or `command_invalid` where it is revoked and may not be. */
export function existingKey(
  clientId: string,
  key: AccessKeyData | null,
  options: { revoked: 'refuse' | 'accept' } = { revoked: 'refuse' },
): AccessKeyData {
  if (key === null) throw notFound(`there is no key ${clientId}`);
  if (key.status === 'revoked' && options.revoked === 'refuse') {
    throw commandInvalid(`key ${clientId} is revoked, which is final: make a new one`);
  }
  return key;
}
