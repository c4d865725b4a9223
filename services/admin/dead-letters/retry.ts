/**
 * Retrying dead letters: the projector's own code, with the same guard against old versions, in a transaction
 * that also removes what was applied. The stamps that it writes turn a race with a running projector into a
 * conflict, and then it is done again.
 */
import type { Redis } from 'ioredis';
import type { KafkaMessage } from 'kafkajs';
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { describeError, isUnavailable } from '#shared/errors.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { applyChanges } from '#shared/projection/changes/apply.ts';
import type { Epochs, GivenPositions } from '#shared/projection/changes/epochs.ts';
import type { Slice } from '#shared/projection/slice/slice.ts';
import { eraseLetters } from '#shared/projection/erasing/letters.ts';
import { NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { inTransaction } from '../transaction.ts';
import type { LetterBox } from './boxes.ts';
import { withoutErasedLetters } from './erased.ts';
import { toMessage } from './message.ts';

export interface Stayed {
  id: string;
  reason: string;
  detail: string;
}

export interface RetryResult {
  applied: number;
  /** Removed without effect: something as new was applied before. */
  outdated: number;
  /** Still dead, and why. */
  stayed: Stayed[];
  /** Removed by somebody else meanwhile. */
  gone: string[];
}

export interface RetryOptions {
  mongodb: MongoClient;
  /** Asked for only when access changed. */
  redis: () => Promise<Redis>;
  prefix: string;
  /** Of the one box. */
  epochs: Epochs;
}

/** Messages that letters do not keep, by letter id. */
export type FetchedMessages = ReadonlyMap<string, readonly KafkaMessage[]>;

/** Retries letters of one box and one partition, in the order of their offsets. */
export async function retryLetters(
  options: RetryOptions,
  box: LetterBox,
  ids: readonly string[],
  fetched: FetchedMessages,
): Promise<RetryResult> {
  try {
    return await attempt(options, (session) => applyLetters(options, box, session, ids, fetched));
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (ids.length === 1) {
      const stayed = ids.map((id) => ({ id, reason: 'failed', detail: describeError(error) }));
      return { applied: 0, outdated: 0, stayed, gone: [] };
    }
    // A transaction can be too large, and one letter must not hold up the others.
    const middle = Math.ceil(ids.length / 2);
    const first = await retryLetters(options, box, ids.slice(0, middle), fetched);
    const second = await retryLetters(options, box, ids.slice(middle), fetched);
    return {
      applied: first.applied + second.applied,
      outdated: first.outdated + second.outdated,
      stayed: [...first.stayed, ...second.stayed],
      gone: [...first.gone, ...second.gone],
    };
  }
}

async function attempt(
  { mongodb, redis, prefix, epochs }: RetryOptions,
  work: (session: ClientSession) => Promise<Attempt>,
): Promise<RetryResult> {
  const { result, publish, given } = await inTransaction(mongodb, work);
  if (given !== undefined) epochs.remember(given);
  // Where Redis is away the records stay marked, and the projector publishes them.
  await publish?.(redis, prefix).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
  return result;
}

interface Attempt {
  result: RetryResult;
  /** Brings what changed to Redis, once it is committed. */
  publish: Publish | null;
  given?: GivenPositions;
}

type Publish = (redis: () => Promise<Redis>, prefix: string) => Promise<void>;

async function applyLetters(
  options: RetryOptions,
  box: LetterBox,
  session: ClientSession,
  ids: readonly string[],
  fetched: FetchedMessages,
): Promise<Attempt> {
  const { topic, letters } = box;
  const found = await letters
    .find({ _id: { $in: [...ids] } }, { session, sort: { partition: 1, offset: 1 } })
    .toArray();
  const present = new Set(found.map(({ _id }) => _id));
  const gone = ids.filter((id) => !present.has(id));
  const [first] = found;
  if (first === undefined) {
    return { result: { applied: 0, outdated: 0, stayed: [], gone }, publish: null };
  }
  const messages = found.flatMap((letter) => fetched.get(letter._id) ?? [toMessage(letter)]);
  const slice: Slice = { topic, partition: first.partition, messages, next: first.offset };
  const applied = await applySlice(options, box, session, slice);

  // Those that stay were written anew, with the reason of today; when they died and what they keep do not change by that.
  const stayed = new Set(applied.deadLetters.map(({ _id }) => _id));
  for (const { _id, dead_at, cut, kept_bytes, erased } of await withoutErasedLetters(
    box.db,
    found,
    session,
  )) {
    if (!stayed.has(_id)) continue;
    const kept = cut === true && kept_bytes === 0 ? NOTHING_KEPT : {};
    await letters.updateOne({ _id }, { $set: { dead_at, ...kept } }, { session });
    if (erased === true) await eraseLetters(box.db, session, [_id]);
  }
  const done = found.filter(({ _id }) => !stayed.has(_id)).map(({ _id }) => _id);
  if (done.length > 0) await letters.deleteMany({ _id: { $in: done } }, { session });
  return {
    result: {
      applied: messages.length - applied.deadLetters.length - applied.outdated,
      outdated: applied.outdated,
      stayed: applied.deadLetters.map(toStayed),
      gone,
    },
    publish: applied.publish,
    given: applied.given,
  };
}

function toStayed({ _id, reason, detail }: DeadLetter): Stayed {
  return { id: _id, reason, detail };
}

interface AppliedSlice {
  outdated: number;
  deadLetters: DeadLetter[];
  publish: Publish | null;
  given: GivenPositions;
}

function applySlice(
  { epochs }: RetryOptions,
  { kind, environment, db }: LetterBox,
  session: ClientSession,
  slice: Slice,
): Promise<AppliedSlice> {
  return kind === 'access'
    ? applyAccessSlice(db, environment, session, slice)
    : applyChangesSlice(db, session, slice, epochs);
}

async function applyChangesSlice(
  db: Db,
  session: ClientSession,
  slice: Slice,
  epochs: Epochs,
): Promise<AppliedSlice> {
  const { plan, deadLetters, given } = await applyChanges(db, session, slice, null, { epochs });
  return { outdated: plan?.outdated ?? 0, deadLetters, publish: null, given };
}

async function applyAccessSlice(
  control: Db,
  environment: string,
  session: ClientSession,
  slice: Slice,
): Promise<AppliedSlice> {
  const { keys, stores, outdated, deadLetters } = await applyAccess(
    control,
    environment,
    session,
    slice,
    null,
  );
  const collections = controlCollections(control);
  const publish: Publish = async (connect, prefix) => {
    const redis = await connect();
    for (const key of keys) await publishAccess(redis, prefix, { key, keys: collections.keys });
    for (const store of stores) await publishAccess(redis, prefix, { store, stores: collections.stores });
  };
  return {
    outdated,
    deadLetters,
    publish: keys.length + stores.length > 0 ? publish : null,
    given: new Map(),
  };
}
