/**
 * Retrying dead letters: the projector's own code, with the same guard against old versions, in a transaction
 * that also removes what was applied. The stamps that it writes turn a race with a running projector into a
 * conflict, and then it is done again.
 */
import type { Redis } from 'ioredis';
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { controlCollections } from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { describeError, isUnavailable } from '#shared/errors.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { applyAccess } from '#projector/access/apply.ts';
import { applyChanges } from '#projector/changes/apply.ts';
import type { Slice } from '#projector/consumer/slice.ts';
import { runInTransaction } from '#projector/consumer/transaction.ts';
import type { LetterBox } from './boxes.ts';
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
}

/** How long one slice is tried against conflicts and servers that are away. */
const PATIENCE_MS = 20_000;

/** Retries letters of one box and one partition, in the order of their offsets. */
export async function retryLetters(
  options: RetryOptions,
  box: LetterBox,
  ids: readonly string[],
): Promise<RetryResult> {
  try {
    return await retryTogether(options, box, ids);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (ids.length === 1) {
      const stayed = ids.map((id) => ({ id, reason: 'failed', detail: describeError(error) }));
      return { applied: 0, outdated: 0, stayed, gone: [] };
    }
    // A transaction can be too large, and one letter must not hold up the others.
    const middle = Math.ceil(ids.length / 2);
    const first = await retryLetters(options, box, ids.slice(0, middle));
    const second = await retryLetters(options, box, ids.slice(middle));
    return {
      applied: first.applied + second.applied,
      outdated: first.outdated + second.outdated,
      stayed: [...first.stayed, ...second.stayed],
      gone: [...first.gone, ...second.gone],
    };
  }
}

async function retryTogether(
  { mongodb, redis, prefix }: RetryOptions,
  box: LetterBox,
  ids: readonly string[],
): Promise<RetryResult> {
  const end = Date.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    const session = mongodb.startSession();
    try {
      const { result, publish } = await runInTransaction(session, () => applyLetters(box, session, ids));
      if (publish !== null) await publish(redis, prefix);
      return result;
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > end) throw error;
    } finally {
      await session.endSession();
    }
    await sleep(Math.min(20 * 2 ** attempt, 1_000) * Math.random());
  }
}

interface Attempt {
  result: RetryResult;
  /** Brings what changed to Redis, once it is committed. */
  publish: ((redis: () => Promise<Redis>, prefix: string) => Promise<void>) | null;
}

async function applyLetters(
  { kind, environment, topic, db, letters }: LetterBox,
  session: ClientSession,
  ids: readonly string[],
): Promise<Attempt> {
  const found = await letters
    .find({ _id: { $in: [...ids] } }, { session, sort: { partition: 1, offset: 1 } })
    .toArray();
  const present = new Set(found.map(({ _id }) => _id));
  const gone = ids.filter((id) => !present.has(id));
  const [first] = found;
  if (first === undefined) {
    return { result: { applied: 0, outdated: 0, stayed: [], gone }, publish: null };
  }
  const messages = found.map(toMessage);
  const slice: Slice = { topic, partition: first.partition, messages, next: first.offset };
  const applied =
    kind === 'access'
      ? await applyAccessSlice(db, environment, session, slice)
      : await applyChangesSlice(db, session, slice);

  // Those that stay were written anew, with the reason of today; when they died does not change by that.
  const stayed = new Set(applied.deadLetters.map(({ _id }) => _id));
  for (const { _id, dead_at } of found) {
    if (stayed.has(_id)) await letters.updateOne({ _id }, { $set: { dead_at } }, { session });
  }
  const done = found.filter(({ _id }) => !stayed.has(_id)).map(({ _id }) => _id);
  if (done.length > 0) await letters.deleteMany({ _id: { $in: done } }, { session });
  return {
    result: {
      applied: done.length - applied.outdated,
      outdated: applied.outdated,
      stayed: applied.deadLetters.map(({ _id, reason, detail }) => ({ id: _id, reason, detail })),
      gone,
    },
    publish: applied.publish,
  };
}

interface AppliedSlice {
  outdated: number;
  deadLetters: DeadLetter[];
  publish: Attempt['publish'];
}

async function applyChangesSlice(db: Db, session: ClientSession, slice: Slice): Promise<AppliedSlice> {
  const { plan, deadLetters } = await applyChanges(db, session, slice, null);
  return { outdated: plan?.outdated ?? 0, deadLetters, publish: null };
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
  const publish: Attempt['publish'] = async (connect, prefix) => {
    const redis = await connect();
    for (const key of keys) await publishAccess(redis, prefix, { key, keys: collections.keys });
    for (const store of stores) await publishAccess(redis, prefix, { store, stores: collections.stores });
  };
  return { outdated, deadLetters, publish: keys.length + stores.length > 0 ? publish : null };
}
