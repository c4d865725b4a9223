/**
 * Changes access: compare-and-set on the record in MongoDB, then Redis, then the event. Requests are decided by it before the command ends,
 * whether or not a projector runs; the projector finds the event applied. What gives rights first waits until the log of access is
 * applied to its end: otherwise it would take the sequence of a removal that still lies there.
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
import { publishAccess } from '#shared/access/grants.ts';
import { commandInvalid, describeError, notFound, StoreDataError, unavailable } from '#shared/errors.ts';
import { type OwnQuota, SCOPES } from '#shared/events/access-event.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { COLLECTIONS, documentId, type StoreDocument } from '#shared/read-models/collections.ts';
import { audited, messageOf } from '../audit.ts';
import { remark } from '../output.ts';
import type { Servers } from '../servers.ts';
import { withTransactionKill } from '../transaction.ts';
import { publishMarked } from './log.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

export interface Change<S> {
  compose: (before: S | null) => S;
  /** How long what gives rights waits until the log is applied. */
  waitMs?: number;
}

export interface Changed<S> {
  state: S;
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

/** Attempts of a compare-and-set, beside other sources that change the same record. */
const MAX_ATTEMPTS = 5;
const POLL_MS = 40;

/**
 * Changes a key or a store, and has it in the audit.
 * @param about what the command knows of the subject; the record says the rest.
 * @throws {StoreDataError} what `compose` throws; `command_invalid` where others keep changing it; `environment_unavailable` naming the
 * server that is missing, as `IncompleteChange` where the change is in effect all the same.
 */
export async function changeAccess<S extends object, R extends AccessRecord>(
  servers: Servers,
  { action, details = {}, ...given }: About,
  subject: Subject<S, R>,
  change: Change<S>,
): Promise<Changed<S>> {
  servers.demandAll();
  const record = await subject.read();
  const known = record === null ? {} : { environment: record.environment, store_id: record.store_id };
  const about = { ...known, ...given };
  return audited(servers, { action, details, ...about }, async () => {
    // What has no record and no environment does not exist, and `compose` says so.
    const topic = accessTopic(about.environment ?? '');
    const { written, sequence, ...result } = await writeChange(servers, topic, subject, change);
    if (written !== null) await complete(servers, subject.name, written, result.state);
    const shown = subject.audited(result.state);
    return { result, details: { ...shown, sequence, changed: result.changed, live: true } };
  });
}

async function writeChange<S extends object, R extends AccessRecord>(
  servers: Servers,
  topic: string,
  { name, read, stateOf, givesRights, atTheLast, write }: Subject<S, R>,
  { compose, waitMs = 0 }: Change<S>,
): Promise<Changed<S> & { written: R | null; sequence: number }> {
  const control = await servers.control();
  let isLogApplied = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const record = await read();
    const { state: before, sequence: last } = stateOf(record);
    const state = compose(before);
    if (isDeepStrictEqual(before, state)) return { state, sequence: last, changed: false, written: record };
    if (givesRights(before, state)) {
      if (last === LAST_SEQUENCE) {
        throw commandInvalid(`${name} has the last sequence that there is: it can only be ${atTheLast} from now on`);
      }
      if (!isLogApplied) {
        await servers.redis();
        await awaitAppliedLog(servers, name, topic, waitMs);
        isLogApplied = true;
        attempt -= 1;
        continue;
      }
    }
    const sequence = Math.min(last + 1, LAST_SEQUENCE);
    const written = await withTransactionKill(control, topic, () => write(sequence, state)).catch((error: unknown) => {
      // Somebody else has made the key meanwhile, for another store.
      if (error instanceof EventRejected) return null;
      throw error;
    });
    if (written !== null) return { state, sequence, changed: true, written };
  }
  throw commandInvalid(`${name} is being changed by others again and again`);
}

/** Brings what MongoDB has to Redis and to the log; the failure of one does not keep back the other. */
async function complete(servers: Servers, name: string, record: AccessRecord, state: object): Promise<void> {
  const failures: string[] = [];
  try {
    const { namePrefix } = servers.config;
    await publishAccess(await servers.redis(), namePrefix, await servers.access(), record);
  } catch (error) {
    failures.push(`${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`);
  }
  try {
    await publishMarked(servers, record.environment);
  } catch (error) {
    failures.push(`${messageOf(error)}; run the command again when it is back, so that the log has the change`);
  }
  if (failures.length === 0) return;
  const message = `the change of ${name} is in MongoDB and stays, but: ${failures.join('; and ')}`;
  throw new IncompleteChange(message, state);
}

/** What becomes of a change that is in MongoDB and could not be written to Redis. */
export const UNTIL_REDIS_IS_BACK =
  'while it is away no request is let in, and it counts before the first one is again; if only this command ' +
  'cannot reach it, the services bring it there within a second or two';

/** Waits until a projector has applied all that the topic holds now. @throws {StoreDataError} `environment_unavailable`. */
async function awaitAppliedLog(servers: Servers, name: string, topic: string, waitMs: number): Promise<void> {
  const bounds = await servers.logBounds(topic);
  const control = await servers.control();
  for (const deadline = Date.now() + waitMs; ; await sleep(POLL_MS)) {
    const positions = await readPositions(control, topic);
    if ([...bounds].every(([partition, { start, end }]) => (positions.get(partition) ?? start) >= end)) return;
    if (Date.now() < deadline) continue;
    throw unavailable(
      `${name} is not changed: what ${topic} holds was not applied after ${waitMs / 1_000} s, and something ` +
        'may be taken away there that this change would undo. Is a projector running? Run the command again then',
    );
  }
}

/** Tells the operator where no record of a store has arrived in an environment. It never fails: who blocks a store needs no record. */
export async function remarkUnknownStore(servers: Servers, environment: string, storeId: string): Promise<void> {
  try {
    const generation = await servers.liveGeneration(environment);
    const stores = generation?.db.collection<StoreDocument>(COLLECTIONS.store);
    const own = { _id: documentId(storeId, storeId), store_id: storeId };
    const found = await stores?.findOne(own, { projection: { _id: 1 } });
    if (!found) remark(`note: no record of a store ${storeId} has arrived in ${environment} yet`);
  } catch (error) {
    remark(`note: nobody knows whether a record of a store ${storeId} has arrived: ${describeError(error)}`);
  }
}

/** A key as commands change it, and to whom it belongs; of secrets those that came last first. */
export type KeyState = Pick<
  AccessKey,
  'environment' | 'store_id' | 'secret_hashes' | 'scopes' | 'status' | 'secret_expires_at'
>;

export interface Subject<S, R extends AccessRecord> {
  /** For messages: `key abc`. */
  name: string;
  read: () => Promise<R | null>;
  /** `null` where nothing was said yet. */
  stateOf: (record: R | null) => { state: S | null; sequence: number };
  givesRights: (from: S | null, to: S) => boolean;
  /** For messages: what can still become of it at the last sequence. */
  atTheLast: string;
  /** Writes a state to MongoDB, marked for the log; `null` when something as new is there. */
  write: (sequence: number, state: S) => Promise<R | null>;
  /** The state as the audit may show it: how many secrets there are, never their hashes. */
  audited: (state: S) => AuditDetails;
}

const MARKED = { event_pending: true } as const;

export function keySubject({ keys }: ControlCollections, clientId: string): Subject<KeyState, AccessKey> {
  return {
    name: `key ${clientId}`,
    read: () => keys.findOne({ _id: clientId }),
    stateOf: (key) => ({
      sequence: Math.max(0, key?.sequence ?? 0),
      state: key === null ? null : keyState(key),
    }),
    givesRights: (from, to) =>
      to.status !== 'revoked' &&
      ((to.status === 'active' && from?.status !== 'active') ||
        to.scopes.some((scope) => from?.scopes.includes(scope) !== true) ||
        to.secret_hashes.some((hash) => from?.secret_hashes.includes(hash) !== true)),
    atTheLast: 'narrowed, deactivated or revoked',
    write: (sequence, { environment, store_id: storeId, status, ...state }) => {
      const scopes = SCOPES.filter((scope) => state.scopes.includes(scope));
      const { secret_hashes: secretHashes, secret_expires_at: secretExpiry = {} } = state;
      const change = { clientId, storeId, sequence, secretHashes, secretExpiry, scopes, status };
      return applyKeyChange(keys, environment, change, MARKED);
    },
    audited: ({ status, scopes, secret_hashes: { length: secrets }, secret_expires_at: ends = {} }) => {
      const [end] = Object.values(ends);
      return { status, scopes, secrets, ...(end === undefined ? {} : { old_secret_ends_at: end }) };
    },
  };
}

function keyState({ environment, store_id, secret_hashes, scopes, status, ...key }: AccessKey): KeyState {
  const { secret_expires_at } = key;
  const ends = secret_expires_at === undefined ? {} : { secret_expires_at };
  return { environment, store_id, secret_hashes, scopes, status, ...ends };
}

export function storeSubject(
  { stores }: ControlCollections,
  environment: string,
  storeId: string,
): Subject<{ status: StoreAccess['access_status'] }, StoreAccess> {
  return {
    name: `store ${storeId} in ${environment}`,
    read: () => stores.findOne({ _id: storeAccessId(environment, storeId) }),
    stateOf: (store) => ({
      sequence: Math.max(0, store?.access_sequence ?? 0),
      state: store === null ? null : { status: store.access_status },
    }),
    givesRights: (from, to) => to.status === 'active' && from?.status !== 'active',
    atTheLast: 'blocked',
    write: (sequence, { status }) =>
      applyStoreStatus(stores, environment, { storeId, sequence, status }, 'access', MARKED),
    audited: ({ status }) => ({ status }),
  };
}

export function quotaSubject(
  collections: ControlCollections,
  environment: string,
  storeId: string,
): Subject<{ quota: OwnQuota }, StoreAccess> {
  const { name, read } = storeSubject(collections, environment, storeId);
  return {
    name: `the quota of ${name}`,
    read,
    stateOf: (store) => ({ sequence: store?.quota_sequence ?? 0, state: { quota: store?.quota ?? null } }),
    // It decides how many requests pass, never which.
    givesRights: () => false,
    atTheLast: '',
    write: (sequence, { quota }) => applyQuota(collections.stores, environment, { storeId, sequence, quota }, MARKED),
    audited: () => ({}),
  };
}

/** @throws {StoreDataError} `not_found`, or `command_invalid` where it is revoked and `mayBeRevoked` does not say that it may. */
export function existingKey(clientId: string, key: KeyState | null, mayBeRevoked = false): KeyState {
  if (key === null) throw notFound(`there is no key ${clientId}`);
  if (key.status === 'revoked' && !mayBeRevoked) {
    throw commandInvalid(`key ${clientId} is revoked, which is final: make a new one`);
  }
  return key;
}
