/**
 * Letters and messages that operators dropped or skipped. A decision outlives its letter: later
 * generations meet the message again.
 */
import type { Collection, Db, Filter } from 'mongodb';
import { inBatches } from '../../waiting.ts';
import { type DeadLetter, lettersIn } from '../../read-models/collections.ts';
import type { LogMessage } from '../../kafka/message.ts';
import type { Slice } from '../slice/checkpoint.ts';

/**
 * A dropped letter, or a skipped batch or message. It lies in the control database, which no
 * rebuild touches.
 */
export interface Decision {
  /**
   * That of the dropped letter; for an unreadable batch with its last offset behind it. That of a
   * skip ends in `/skip`.
   */
  _id: string;
  topic: string;
  partition: number;
  /** Offsets, the last included. */
  from: number;
  to: number;
  /** Why a dropped batch could not be read; `null` for a message or a skip. */
  reason: string | null;
  /** Identifies a dropped batch: another log has another one there. Absent for a skip. */
  digest?: string;
  /** Kafka's time of the first message, which identifies the log; 1970 for a skip. */
  published_at: Date;
  dropped_at: Date;
  skip?: Skipped;
}

/** A skipped batch that cannot be read, or a skipped message that keeps failing. */
export interface Skipped {
  from: number;
  /** Identifies the batch or message: another log has another one at the same offset. */
  digest: string;
  reason: string;
  detail: string;
}

const AT_ONCE = 1_000;

export function decisionsIn(control: Db): Collection<Decision> {
  return control.collection('dropped_letters');
}

export async function createDecisionIndexes(control: Db): Promise<void> {
  await decisionsIn(control).createIndexes([
    { name: 'by_place', key: { topic: 1, partition: 1, to: 1, from: 1 } },
  ]);
}

/** Notes a skip, which a waiting partition notices within a second or two. */
export async function noteSkip(
  control: Db,
  { topic, partition }: { topic: string; partition: number },
  skip: Skipped,
  to: number,
): Promise<void> {
  const { from } = skip;
  const times = { published_at: new Date(0), dropped_at: new Date() };
  await decisionsIn(control).replaceOne(
    { _id: skipId(topic, partition, from) },
    { topic, partition, from, to, reason: null, ...times, skip },
    { upsert: true, writeConcern: { w: 'majority' } },
  );
}

/** The last offset that is skipped; `null` unless an operator decided so. */
export async function skippedTo(
  control: Db,
  topic: string,
  partition: number,
  { from, digest }: Pick<Skipped, 'from' | 'digest'>,
): Promise<number | null> {
  const filter = { _id: skipId(topic, partition, from), 'skip.digest': digest };
  const found = await decisionsIn(control).findOne(filter, { maxTimeMS: 5_000 });
  return found?.to ?? null;
}

function skipId(topic: string, partition: number, from: number): string {
  return `${topic}/${partition}/${from}/skip`;
}

export function decisionToDrop(
  letter: Omit<DeadLetter, 'value' | 'headers' | 'kept_bytes'>,
): Decision {
  const { _id, topic, partition, offset, reason, gathered, digest, published_at } = letter;
  const to = gathered?.last_offset ?? offset;
  return {
    _id: gathered === undefined ? _id : `${_id}/${to}`,
    topic,
    partition,
    from: offset,
    to,
    reason: gathered === undefined ? null : reason,
    digest,
    published_at,
    dropped_at: new Date(),
  };
}

/** Removes letters of a generation that were dropped while they were written. */
export async function forgetDropped(
  control: Db,
  { db, since }: { db: Db; since: Date },
  topic: string,
): Promise<void> {
  const letters = lettersIn(db);
  const decisions = decisionsIn(control).find({
    topic,
    skip: { $exists: false },
    dropped_at: { $gte: since },
  });
  const letterOf = ({ partition, from, reason, digest = '' }: Decision): Filter<DeadLetter> => ({
    _id: `${topic}/${partition}/${from}`,
    gathered: { $exists: reason !== null },
    digest,
  });
  for await (const batch of inBatches(decisions, AT_ONCE)) {
    await letters.bulkWrite(
      batch.map((decision) => ({ deleteOne: { filter: letterOf(decision) } })),
    );
  }
}

/** A slice without the messages and unreadable batches that were dropped. */
export async function leaveOutDropped(control: Db, slice: Slice): Promise<Slice> {
  const { topic, partition, messages } = slice;
  const first = Number(messages[0]?.offset ?? 0);
  const last = Number(messages.at(-1)?.offset ?? 0);
  const decisions = await decisionsIn(control)
    .find({ topic, partition, skip: { $exists: false }, to: { $gte: first }, from: { $lte: last } })
    .toArray();
  if (decisions.length === 0) return slice;
  const isDropped = ({ unreadable, offset, timestamp }: LogMessage) =>
    decisions.some(({ from, reason, digest, published_at }) => {
      if (unreadable !== undefined) {
        return reason !== null && from === unreadable.from && digest === unreadable.digest;
      }
      return (
        reason === null && from === Number(offset) && published_at.getTime() === Number(timestamp)
      );
    });
  return { ...slice, messages: messages.filter((message) => !isDropped(message)) };
}
