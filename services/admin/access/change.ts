/**
 * Changing access. What gives rights travels through the log like everybody's events, and the command waits until
 * it is live. What takes rights away is written to MongoDB and Redis here and now, so that a stopped projector
 * delays no revocation, and then published, so that the log has it; the projector finds it applied already.
 */
import { commandInvalid, describeError, StoreDataError } from '#shared/errors.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { holderOf, type RedisHolders } from '#shared/redis-masters.ts';
import type { Servers } from '../connection/servers.ts';
import {
  announce,
  type Announced,
  announcementsIn,
  forget,
  type AccessKeyData,
  type StoreAccessData,
  withdraw,
} from './announce.ts';
import { pastHangingTransactions } from './hanging-transactions.ts';
import { untilLive } from './live.ts';
import { publishAccessEvent } from './publish-event.ts';
import { tellReplicas } from './replicas.ts';
import type { Subject } from './subject.ts';

/** Of a key or a store. */
export interface AccessRecord {
  environment: string;
  store_id: string;
  version: number;
  publish_pending?: true;
}

export interface Change<S> {
  /** Makes the new state; throws where that is not possible. */
  compose: (before: S | null) => S;
  /** Whether the state that is live in the end is what the operator wanted. */
  holds: (state: S) => boolean;
  /** How long to wait until it is live; 0 does not wait. */
  waitMs: number;
}

export interface Changed<S> {
  state: S;
  sequence: number;
  /** Whether there was anything to change. */
  changed: boolean;
  /** Whether requests are decided by it from now on; false where nobody waited for that. */
  live: boolean;
}

/** Other sources may change the same record again and again; nobody needs to win against that. */
const ATTEMPTS = 5;

/**
 * Changes a key or a store.
 * @throws {StoreDataError} what `compose` throws; `environment_unavailable` naming the server and what is in
 * effect all the same; `command_invalid` when somebody else's change came in between.
 */
export async function changeAccess<S extends AccessKeyData | StoreAccessData, R extends AccessRecord>(
  servers: Servers,
  subject: Subject<S, R>,
  change: Change<S>,
): Promise<Changed<S>> {
  const control = await servers.control();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const announced = await announce(
      announcementsIn(control),
      subject.id,
      async () => {
        const record = await subject.read();
        return record === null ? null : subject.appliedOf(record);
      },
      change.compose,
      (before, after) => {
        if (!subject.givesRights(before, after)) return;
        throw commandInvalid(
          `${subject.name} has the last sequence that there is: it can only be ${subject.atTheLast} from now on`,
        );
      },
    );
    if (!reducesRights(subject, announced)) return throughTheLog(servers, subject, change, announced);
    const { sequence, after } = announced;
    const { environment } = subject.event(sequence, after);
    const applied = await pastHangingTransactions(control, accessTopic(environment), () =>
      subject.apply(sequence, after),
    );
    const record = applied ?? (await subject.read());
    const holds = record !== null && change.holds(subject.appliedOf(record).state);
    // Else something newer is there that somebody else wrote meanwhile.
    if (holds) return atOnce(servers, subject, announced, record);
  }
  throw commandInvalid(`${subject.name} is being changed by others again and again`);
}

/** Asked for again it counts too: whatever was missing the last time, Redis or the log, is made good. */
function reducesRights<S extends AccessKeyData | StoreAccessData, R>(
  subject: Subject<S, R>,
  { before, applied, after }: Announced<S>,
): boolean {
  if (after.status !== 'active') return true;
  return [before, applied].some((state) => state !== null && subject.takesRights(state, after));
}

/** What becomes of a change that takes rights away, is in MongoDB, and could not be written to Redis. */
export const UNTIL_REDIS_IS_BACK =
  'while it is away no request is let in, and it counts before the first one is again; if only this command ' +
  'cannot reach it, the services bring it there within a second or two';

/** The record is written; Redis and the log follow, and the failure of one does not keep back the other. */
async function atOnce<S extends AccessKeyData | StoreAccessData, R>(
  servers: Servers,
  subject: Subject<S, R>,
  announced: Announced<S>,
  record: R,
): Promise<Changed<S>> {
  const { sequence, after, changed } = announced;
  const failures: string[] = [];
  try {
    const redis = await servers.redis();
    await subject.publish(redis, record);
    await tellReplicas(holderOf(redis, subject.redisKey(record)));
  } catch (error) {
    failures.push(`${messageOf(error)}; ${UNTIL_REDIS_IS_BACK}`);
  }
  try {
    await publishAccessEvent(servers, subject.event(sequence, after));
  } catch (error) {
    failures.push(
      `${messageOf(error)}; run the command again when it is back, so that the log has the change`,
    );
  }
  await forget(announcementsIn(await servers.control()), announced);
  if (failures.length > 0) {
    throw new StoreDataError(
      'environment_unavailable',
      `the change of ${subject.name} is in MongoDB and stays, but: ${failures.join('; and ')}`,
    );
  }
  return { state: after, sequence, changed, live: true };
}

async function throughTheLog<S extends AccessKeyData | StoreAccessData, R extends AccessRecord>(
  servers: Servers,
  subject: Subject<S, R>,
  change: Change<S>,
  announced: Announced<S>,
): Promise<Changed<S>> {
  const { sequence, after, changed, beforeIsApplied } = announced;
  const control = await servers.control();
  const announcements = announcementsIn(control);
  let letterId: string | null = null;
  let redis: RedisHolders;
  try {
    // Both before the event: nothing shall be published that cannot be seen through.
    redis = await servers.redis();
    if (changed || !beforeIsApplied)
      letterId = await publishAccessEvent(servers, subject.event(sequence, after));
  } catch (error) {
    await withdraw(announcements, announced);
    throw error;
  }
  if (change.waitMs === 0) return { state: after, sequence, changed, live: false };
  const wait = { control, redis, sequence, letterId, timeoutMs: change.waitMs };
  const ended = await untilLive(subject, wait);
  if (ended.outcome === 'live') {
    await forget(announcements, announced);
    const { state } = subject.appliedOf(ended.record);
    if (change.holds(state)) return { state, sequence, changed, live: true };
    throw commandInvalid(`somebody else changed ${subject.name} meanwhile: it is ${describe(state)} now`);
  }
  if (ended.outcome === 'dead_letter') {
    await withdraw(announcements, announced);
    const { _id, reason, detail } = ended.letter;
    throw commandInvalid(
      `the projector refused the change of ${subject.name}: ${reason}: ${detail} (dead letter ${_id})`,
    );
  }
  const waited = `after ${change.waitMs / 1_000} s: is a projector running? It takes effect as soon as one gets there`;
  throw new NotLiveYet(
    ended.outcome === 'not_in_redis'
      ? `the change of ${subject.name} is in MongoDB, but not in Redis ${waited}`
      : `the change of ${subject.name} is published, but not applied ${waited}`,
    after,
  );
}

/** Everything is done but the waiting, which took too long. */
export class NotLiveYet extends StoreDataError {
  readonly state: AccessKeyData | StoreAccessData;

  constructor(message: string, state: AccessKeyData | StoreAccessData) {
    super('environment_unavailable', message);
    this.state = state;
  }
}

function describe(state: AccessKeyData | StoreAccessData): string {
  return 'scopes' in state
    ? `${state.status} with the scopes ${state.scopes.join(', ') || 'none'}`
    : state.status;
}

function messageOf(error: unknown): string {
  return error instanceof StoreDataError ? error.message : describeError(error);
}
