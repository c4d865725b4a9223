/** What commands change of access: a key or a store, how its state is read, written and published. */
import type { Db } from 'mongodb';
import {
  type AccessKey,
  applyKeyChange,
  applyStoreStatus,
  controlCollections,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { RedisHolders } from '#shared/redis-masters.ts';
import { commandInvalid, notFound } from '#shared/errors.ts';
import type { AccessKeyData, Applied, StoreAccessData } from './announce.ts';
import type { AccessEvent } from './publish-event.ts';

/** One key or one store, its state `S` and its record `R`. */
export interface Subject<S, R> {
  /** For messages: `key abc`. */
  name: string;
  /** Of its announcement. */
  id: string;
  read: () => Promise<R | null>;
  appliedOf: (record: R) => Applied<S>;
  /** Whether the second state, an active one, allows less than the first. */
  takesRights: (from: S, to: S) => boolean;
  /** Whether the second state allows anything that the first does not. */
  givesRights: (from: S | null, to: S) => boolean;
  /** For messages: what can still become of it at the last sequence. */
  atTheLast: string;
  /** Writes a state to MongoDB; `null` when something as new is there. */
  apply: (sequence: number, state: S) => Promise<R | null>;
  publish: (redis: RedisHolders, record: R) => Promise<void>;
  /** Where Redis has the record. */
  redisKey: (record: R) => string;
  event: (sequence: number, state: S) => AccessEvent;
}

/** The subject of one `client_id`, whether it exists or is to be made. */
export function keySubject(control: Db, prefix: string, clientId: string): Subject<AccessKeyData, AccessKey> {
  const { keys } = controlCollections(control);
  return {
    name: `key ${clientId}`,
    id: `access_key/${clientId}`,
    read: () => keys.findOne({ _id: clientId }),
    appliedOf: (key) => ({ sequence: key.sequence, state: stateOf(key), final: key.status === 'revoked' }),
    takesRights: (from, to) =>
      from.scopes.some((scope) => !to.scopes.includes(scope)) ||
      from.secret_sha256.some((hash) => !to.secret_sha256.includes(hash)),
    givesRights: (from, to) =>
      (to.status === 'active' && from?.status !== 'active') ||
      to.scopes.some((scope) => from?.scopes.includes(scope) !== true) ||
      to.secret_sha256.some((hash) => from?.secret_sha256.includes(hash) !== true),
    atTheLast: 'narrowed, deactivated or revoked',
    apply: (sequence, state) =>
      applyKeyChange(keys, state.environment, {
        kind: 'access_key',
        clientId,
        storeId: state.store_id,
        sequence,
        source: '',
        eventId: '',
        secretHashes: state.secret_sha256,
        secretExpiry: state.secret_expires_at ?? {},
        scopes: state.scopes,
        status: state.status,
      }),
    publish: (redis, key) => publishAccess(redis, prefix, { key, keys }),
    redisKey: (key) => redisKeys(prefix, key.environment, key.store_id).grant(clientId),
    event: (sequence, { environment, store_id: storeId, ...data }) => ({
      entity: 'access_key',
      environment,
      storeId,
      subject: clientId,
      sequence,
      data,
    }),
  };
}

function stateOf(key: AccessKey): AccessKeyData {
  return {
    environment: key.environment,
    store_id: key.store_id,
    secret_sha256: key.secret_hashes,
    scopes: key.scopes,
    status: key.status,
    ...(key.secret_expires_at === undefined ? {} : { secret_expires_at: key.secret_expires_at }),
  };
}

/** The subject of one store in one environment, whether its record is there or not. */
export function storeSubject(
  control: Db,
  prefix: string,
  environment: string,
  storeId: string,
): Subject<StoreAccessData, StoreAccess> {
  const { stores } = controlCollections(control);
  const _id = storeAccessId(environment, storeId);
  return {
    name: `store ${storeId} in ${environment}`,
    id: `store_access/${_id}`,
    read: () => stores.findOne({ _id }),
    appliedOf: ({ access_sequence: sequence, access_status: status }) => ({
      sequence,
      state: { status },
      final: false,
    }),
    takesRights: () => false,
    givesRights: (from, to) => to.status === 'active' && from?.status !== 'active',
    atTheLast: 'blocked',
    apply: (sequence, { status }) =>
      applyStoreStatus(stores, environment, { storeId, sequence, status }, 'access'),
    publish: (redis, store) => publishAccess(redis, prefix, { store, stores }),
    redisKey: () => redisKeys(prefix, environment, storeId).storeAccess,
    event: (sequence, data) => ({
      entity: 'store_access',
      environment,
      storeId,
      subject: storeId,
      sequence,
      data,
    }),
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
