/**
 * Changes access: compare-and-set on the record in MongoDB, then Redis, then the event. Requests are decided by it before the command ends,
 * whether or not a projector runs; the projector finds the event applied. What gives rights first waits until the log of access is
 * applied to its end: otherwise it would take the sequence of a removal that still lies there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { AuditAction, AuditDetails, AuditSubject } from '#shared/access/audit.ts';
import { commandInvalid, describeError, StoreDataError } from '#shared/errors.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { readLogBounds } from '#shared/kafka/positions.ts';
import { type Checkpoint, checkpointId } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS, COLLECTIONS, documentId, type StoreDocument } from '#shared/read-models/collections.ts';
import { nodeFor, describeRedis } from '#shared/redis-masters.ts';
import { audited } from '../audit.ts';
import type { Servers } from '../connection/servers.ts';
import { remark } from '../output/print.ts';
import { withTransactionKill } from '../transaction.ts';
import { publishMarked } from './log.ts';
import type { AccessRecord, Subject } from './subject.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';

export interface Change<S> {
  /** Makes the new state; throws where that is not possible. */
  compose: (before: S | null) => S;
  /** How long what gives rights waits until the log is applied. */
  waitMs: number;
}

export interface Changed<S> {
  state: S;
  /** Whether there was anything to change. */
  changed: boolean;
}

/** What a change is about, for the audit. */
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
  { action, details = {}, ...about }: About,
  subject: Subject<S, R>,
  change: Change<S>,
): Promise<Changed<S>> {
  servers.demandAll();
  const record = await subject.read();
  const known = record === null ? {} : { environment: record.environment, store_id: record.store_id };
  return audited(servers, { action, details, ...known, ...about }, async () => {
    const { written, sequence, ...result } = await writeChange(servers, subject, change);
    if (written !== null) await complete(servers, subject, written, result.state);
    const shown = subject.audited(result.state);
    return { result, details: { ...shown, sequence, changed: result.changed, live: true } };
  });
}

async function writeChange<S extends object, R extends AccessRecord>(
  servers: Servers,
  subject: Subject<S, R>,
  { compose, waitMs }: Change<S>,
): Promise<Changed<S> & { written: R | null; sequence: number }> {
  const control = await servers.control();
  let isLogApplied = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const record = await subject.read();
    const { state: before, sequence: last } = subject.stateOf(record);
    const state = compose(before);
    // States are flat, and always made with their fields in the same order.
    if (before !== null && JSON.stringify(before) === JSON.stringify(state)) {
      return { state, sequence: last, changed: false, written: record };
    }
    const topic = accessTopic(subject.environmentOf(state));
    if (subject.givesRights(before, state)) {
      if (last === LAST_SEQUENCE) {
        throw commandInvalid(
          `${subject.name} has the last sequence that there is: it can only be ${subject.atTheLast} from now on`,
        );
      }
      if (!isLogApplied) {
        await servers.redis();
        await awaitAppliedLog(servers, subject.name, topic, waitMs);
        isLogApplied = true;
        attempt -= 1;
        continue;
      }
    }
    const sequence = Math.min(last + 1, LAST_SEQUENCE);
    const written = await withTransactionKill(control, topic, () => subject.write(sequence, state)).catch(
      (error: unknown) => {
        // Somebody else has made the key meanwhile, for another store.
        if (error instanceof EventRejected) return null;
        throw error;
      },
    );
    if (written !== null) return { state, sequence, changed: true, written };
  }
  throw commandInvalid(`${subject.name} is being changed by others again and again`);
}

/** Brings what MongoDB has to Redis and to the log; the failure of one does not keep back the other. */
async function complete<S extends object, R extends AccessRecord>(
  servers: Servers,
  subject: Subject<S, R>,
  record: R,
  state: S,
): Promise<void> {
  const failures: string[] = [];
  try {
    const redis = await servers.redis();
    await subject.publish(redis, record);
    await remarkReplicas(nodeFor(redis, subject.redisKey(record)));
  } catch (error) {
    failures.push(`${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`);
  }
  try {
    await publishMarked(servers, record.environment);
  } catch (error) {
    failures.push(
      `${messageOf(error)}; run the command again when it is back, so that the log has the change`,
    );
  }
  if (failures.length === 0) return;
  throw new IncompleteChange(
    `the change of ${subject.name} is in MongoDB and stays, but: ${failures.join('; and ')}`,
    state,
  );
}

/** What becomes of a change that is in MongoDB and could not be written to Redis. */
export const UNTIL_REDIS_IS_BACK =
  'while it is away no request is let in, and it counts before the first one is again; if only this command ' +
  'cannot reach it, the services bring it there within a second or two';

function messageOf(error: unknown): string {
  return error instanceof StoreDataError ? error.message : describeError(error);
}

/** Waits until a projector has applied all that the topic holds now. @throws {StoreDataError} `environment_unavailable`. */
async function awaitAppliedLog(servers: Servers, name: string, topic: string, waitMs: number): Promise<void> {
  const bounds = await readLogBounds(await servers.kafkaOf(topic).admin(), topic);
  const checkpoints = (await servers.control()).collection<Checkpoint>(CHECKPOINTS);
  const deadline = Date.now() + waitMs;
  for (;;) {
    const found = await checkpoints.find({ topic }, { projection: { position: 1 } }).toArray();
    const positions = new Map(found.map(({ _id, position }) => [_id, position]));
    const isApplied = [...bounds].every(
      ([partition, { start, end }]) => (positions.get(checkpointId(topic, partition)) ?? start) >= end,
    );
    if (isApplied) return;
    if (Date.now() >= deadline) {
      throw new StoreDataError(
        'environment_unavailable',
        `${name} is not changed: what ${topic} holds was not applied after ${waitMs / 1_000} s, and something ` +
          'may be taken away there that this change would undo. Is a projector running? Run the command again then',
      );
    }
    await sleep(POLL_MS);
  }
}

/** Below the time that a command of the client may take. */
const REPLICAS_MS = 100;

/**
 * Waits for the replicas, where there are any, and says how many have it: on the connection that wrote. It is only information: one that
 * takes over without it is reconciled with MongoDB before it is used.
 */
export async function remarkReplicas(redis: Redis): Promise<void> {
  try {
    const { replicas } = await describeRedis(redis);
    if (replicas === 0) return;
    const confirmed = await redis.wait(replicas, REPLICAS_MS);
    remark(`note: ${confirmed} of ${replicas} replicas of Redis have it`);
  } catch {
    // A server that does not tell, or is gone again: the write itself was confirmed.
  }
}

/** Tells the operator where no record of a store has arrived in an environment. It never fails: who blocks a store needs no record. */
export async function remarkUnknownStore(
  servers: Servers,
  environment: string,
  storeId: string,
): Promise<void> {
  try {
    const generation = await findLiveGeneration(await servers.databases(environment), environment);
    const found = await generation?.db
      .collection<StoreDocument>(COLLECTIONS.store)
      .findOne({ _id: documentId(storeId, storeId), store_id: storeId }, { projection: { _id: 1 } });
    if (!found) remark(`note: no record of a store ${storeId} has arrived in ${environment} yet`);
  } catch (error) {
    remark(`note: nobody knows whether a record of a store ${storeId} has arrived: ${describeError(error)}`);
  }
}
