/**
 * Changes access: compare-and-set on the record in MongoDB, then Redis, then the event. The change
 * is live when the command ends, with or without a projector. A change that gives rights first
 * waits until the access log is applied: it could take a removal's sequence.
 */
import {
  type AccessKey,
  type AccessRecord,
  applyKeyChange,
  applyQuota,
  applyStoreStatus,
  type ControlCollections,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import type { AuditAction, AuditDetails, AuditSubject } from '#shared/access/audit.ts';
import {
  commandInvalid,
  describeError,
  notFound,
  StoreDataError,
  unavailable,
} from '#shared/errors.ts';
import { type OwnQuota, SCOPES } from '#shared/events/access-event.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { COLLECTIONS, documentId, type StoreDocument } from '#shared/read-models/collections.ts';
import { audited, messageOf } from '../audit.ts';
import { remark } from '../output.ts';
import type { Environment, Servers } from '../servers.ts';
import { withTransactionKill } from '../transaction.ts';
import { publishMarked, publishMarkedElsewhere } from './log.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

type Compose<S> = (before: S | null) => S;

export interface Changed<S> {
  state: S;
  sequence: number;
  changed: boolean;
}

export type About = AuditSubject & { action: AuditAction; details?: AuditDetails };

/** The change is in MongoDB; Redis or the log does not have it yet. */
export class IncompleteChange extends StoreDataError {
  readonly state: object;

  constructor(message: string, state: object) {
    super('environment_unavailable', message);
    this.state = state;
  }
}

/** Attempts of a compare-and-set, while other sources change the same record. */
const MAX_ATTEMPTS = 5;
const POLL_MS = 40;

/**
 * Changes a key or a store, and records it in the audit.
 * @param about what the command knows beyond the subject; the record has the rest.
 * @param waitMs how long a change that gives rights waits until the log is applied.
 * @throws {StoreDataError} what `compose` throws; `command_invalid` where others keep changing it; `environment_unavailable` with the name
 * of the server that is missing, as `IncompleteChange` if the change is in effect nevertheless.
 */
export async function changeAccess<S extends object, R extends AccessRecord>(
  servers: Servers,
  { action, details = {}, ...given }: About,
  subject: Subject<S, R>,
  compose: Compose<S>,
  waitMs = 0,
): Promise<Changed<S>> {
  servers.demandAll();
  const record = await subject.read();
  const known =
    record === null ? {} : { environment: record.environment, store_id: record.store_id };
  const about = { ...known, ...subject.about, ...given };
  const change = async () => {
    // A subject without a record and an environment does not exist: `compose` throws.
    const topic = accessTopic(about.environment ?? '');
    const { written, ...result } = await writeChange(servers, topic, subject, compose, waitMs);
    if (written !== null) await complete(servers, subject.name, written, result.state);
    return result;
  };
  return audited(
    servers,
    { action, details, ...about },
    change,
    ({ state, sequence, changed }) => ({
      details: { ...subject.audited(state), sequence, changed, live: true },
    }),
  );
}

async function writeChange<S extends object, R extends AccessRecord>(
  servers: Servers,
  topic: string,
  { name, read, stateOf, givesRights, atTheLast, write }: Subject<S, R>,
  compose: Compose<S>,
  waitMs: number,
): Promise<Changed<S> & { written: R | null }> {
  const control = await servers.control();
  let isLogApplied = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const record = await read();
    const { state: before, sequence: last } = stateOf(record);
    const state = compose(before);
    if (isDeepStrictEqual(before, state))
      return { state, sequence: last, changed: false, written: record };
    const isGiven = givesRights(before, state);
    if (last === LAST_SEQUENCE && (isGiven || atTheLast === NO_CHANGE)) {
      throw commandInvalid(`${name} has the last possible sequence: it ${atTheLast}`);
    }
    if (isGiven && !isLogApplied) {
      await servers.redis();
      await awaitAppliedLog(servers, name, topic, waitMs);
      isLogApplied = true;
      attempt -= 1;
      continue;
    }
    const sequence = Math.min(last + 1, LAST_SEQUENCE);
    const written = await withTransactionKill(control, topic, () => write(sequence, state)).catch(
      (error: unknown) => {
        // Another process has made the key meanwhile, for another store.
        if (error instanceof EventRejected) return null;
        throw error;
      },
    );
    if (written !== null) return { state, sequence, changed: true, written };
  }
  throw commandInvalid(
    `${name} was changed by others ${MAX_ATTEMPTS} times meanwhile: run the command again`,
  );
}

/** Publishes a record to Redis and to the log; a failure of one does not prevent the other. */
async function complete(
  servers: Servers,
  name: string,
  record: AccessRecord,
  state: object,
): Promise<void> {
  const failures: string[] = [];
  try {
    await servers.publishToRedis(record);
  } catch (error) {
    failures.push(`${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`);
  }
  try {
    await publishMarked(servers, record.environment);
  } catch (error) {
    failures.push(
      `${messageOf(error)}; the log lacks the change until the next change of access, or "access republish", publishes it`,
    );
  }
  if (failures.length === 0) return publishMarkedElsewhere(servers, record.environment);
  const message = `the change of ${name} is in MongoDB and stays, but: ${failures.join('; and ')}`;
  throw new IncompleteChange(message, state);
}

/** How a change that is in MongoDB and not in Redis takes effect. */
export const UNTIL_REDIS_IS_BACK =
  'while Redis is away no request passes, and the change counts before the next one does; if only this command ' +
  'cannot reach Redis, the services publish the change there within two seconds';

/**
 * Waits until a projector has applied all that the topic holds now.
 * @throws {StoreDataError} `environment_unavailable`.
 */
async function awaitAppliedLog(
  servers: Servers,
  name: string,
  topic: string,
  waitMs: number,
): Promise<void> {
  const bounds = await servers.logBounds(topic);
  const control = await servers.control();
  for (const deadline = Date.now() + waitMs; ; await sleep(POLL_MS)) {
    const positions = await readPositions(control, topic);
    if (
      [...bounds].every(([partition, { start, end }]) => (positions.get(partition) ?? start) >= end)
    )
      return;
    if (Date.now() < deadline) continue;
    throw unavailable(
      `${name} is not changed: the messages of ${topic} were not applied after ${waitMs / 1_000} s, and this change ` +
        'may undo a removal among them. Start a projector, and run the command again',
    );
  }
}

/**
 * Says that no record of a store has arrived in an environment. It never fails: a store without a
 * record can be blocked.
 */
export async function remarkUnknownStore(environment: Environment, storeId: string): Promise<void> {
  try {
    const generation = await environment.liveGeneration();
    const stores = generation?.db.collection<StoreDocument>(COLLECTIONS.store);
    const own = { _id: documentId(storeId, storeId), store_id: storeId };
    const found = await stores?.findOne(own, { projection: { _id: 1 } });
    if (!found)
      remark(`note: no record of a store ${storeId} has arrived in ${environment.name} yet`);
  } catch (error) {
    remark(
      `note: it is unknown whether a record of store ${storeId} has arrived: ${describeError(error)}`,
    );
  }
}

/** A key as commands change it, and its store; the newest secret is first. */
export type KeyState = Pick<
  AccessKey,
  'environment' | 'store_id' | 'secret_hashes' | 'scopes' | 'status' | 'secret_expires_at'
>;

interface Subject<S, R extends AccessRecord> {
  /** For messages: `key abc`. */
  name: string;
  /** For the audit. */
  about: AuditSubject;
  read: () => Promise<R | null>;
  /** `null` without a record. */
  stateOf: (record: R | null) => { state: S | null; sequence: number };
  givesRights: (from: S | null, to: S) => boolean;
  /** For messages: the changes that are possible at the last sequence. */
  atTheLast: string;
  /**
   * Writes a state to MongoDB, marked for the log; `null` when that has the same or a newer
   * sequence.
   */
  write: (sequence: number, state: S) => Promise<R | null>;
  /** The state for the audit: the number of secrets, never their hashes. */
  audited: (state: S) => AuditDetails;
}

const NO_CHANGE = 'stays as it is';
const MARKED = { event_pending: true } as const;

export function keySubject(
  { keys }: ControlCollections,
  clientId: string,
): Subject<KeyState, AccessKey> {
  return {
    name: `key ${clientId}`,
    about: { client_id: clientId },
    read: () => keys.findOne({ _id: clientId }),
    stateOf: (key) => ({ sequence: Math.max(0, key?.sequence ?? 0), state: key }),
    givesRights: (from, to) =>
      to.status !== 'revoked' &&
      ((to.status === 'active' && from?.status !== 'active') ||
        to.scopes.some((scope) => from?.scopes.includes(scope) !== true) ||
        to.secret_hashes.some((hash) => from?.secret_hashes.includes(hash) !== true)),
    atTheLast: 'can only be narrowed, deactivated or revoked',
    write: (sequence, { environment, store_id: storeId, status, ...state }) => {
      const scopes = SCOPES.filter((scope) => state.scopes.includes(scope));
      const { secret_hashes: secretHashes, secret_expires_at: secretExpiry = {} } = state;
      const change = { clientId, storeId, sequence, secretHashes, secretExpiry, scopes, status };
      return applyKeyChange(keys, environment, change, MARKED);
    },
    audited: ({
      status,
      scopes,
      secret_hashes: { length: secrets },
      secret_expires_at: ends = {},
    }) => {
      const [end] = Object.values(ends);
      return { status, scopes, secrets, ...(end !== undefined && { old_secret_ends_at: end }) };
    },
  };
}

/** A store in an environment. */
export type StoreOf = Pick<StoreAccess, 'environment' | 'store_id'>;

export function storeSubject(
  { stores }: ControlCollections,
  about: StoreOf,
): Subject<{ status: StoreAccess['access_status'] }, StoreAccess> {
  const { environment, store_id: storeId } = about;
  return {
    name: `store ${storeId} in ${environment}`,
    about,
    read: () => stores.findOne({ _id: storeAccessId(environment, storeId) }),
    stateOf: (store) => ({
      sequence: Math.max(0, store?.access_sequence ?? 0),
      state: store === null ? null : { status: store.access_status },
    }),
    givesRights: (from, to) => to.status === 'active' && from?.status !== 'active',
    atTheLast: 'can only be blocked',
    write: (sequence, { status }) =>
      applyStoreStatus(stores, environment, { storeId, sequence, status }, 'access', MARKED),
    audited: ({ status }) => ({ status }),
  };
}

export function quotaSubject(
  collections: ControlCollections,
  about: StoreOf,
): Subject<{ quota: OwnQuota }, StoreAccess> {
  const { environment, store_id: storeId } = about;
  const { name, read } = storeSubject(collections, about);
  return {
    name: `the quota of ${name}`,
    about,
    read,
    stateOf: (store) => ({
      sequence: store?.quota_sequence ?? 0,
      state: { quota: store?.quota ?? null },
    }),
    // A quota limits requests, and gives no right.
    givesRights: () => false,
    atTheLast: NO_CHANGE,
    write: (sequence, { quota }) =>
      applyQuota(collections.stores, environment, { storeId, sequence, quota }, MARKED),
    audited: () => ({}),
  };
}

/**
 * @throws {StoreDataError} `not_found`, or `command_invalid` if it is revoked, unless
 * `mayBeRevoked`.
 */
export function existingKey(
  clientId: string,
  key: KeyState | null,
  mayBeRevoked = false,
): KeyState {
  if (key === null) throw notFound(`there is no key ${clientId}`);
  if (key.status === 'revoked' && !mayBeRevoked) {
    throw commandInvalid(`key ${clientId} is revoked, which is final: make a new one`);
  }
  return key;
}
