/**
 * Messages that an operator dropped. The decision outlives the letter: a generation that is filled later, or was restored,
 * comes across the message again, and neither applies it nor makes it a letter again.
 */
import type { KafkaMessage } from 'kafkajs';
import type { Collection, Db } from 'mongodb';
import { inBatches } from '../../batches.ts';
import { DEAD_LETTERS, type DeadLetter } from '../../read-models/collections.ts';
import { unreadableBatch } from '../../kafka/unreadable.ts';
import type { Slice } from '../slice/slice.ts';

/** In the control database, which no rebuild touches. */
export interface DroppedLetter {
  /** The letter's; of a batch that could not be read with the offset of its last message. */
  _id: string;
  topic: string;
  partition: number;
  /** Offsets, the last included. */
  from: number;
  to: number;
  /** Of a batch that could not be read; `null` for a message. */
  reason: string | null;
  /** When Kafka took the first message, by which a replaced log is told. */
  published_at: Date;
  dropped_at: Date;
}

/** How old the knowledge may be that there is no decision for what lies ahead. */
const FRESH_MS = 1_000;
const AT_ONCE = 1_000;

export function droppedLettersIn(control: Db): Collection<DroppedLetter> {
  return control.collection('dropped_letters');
}

/** Creates the index by which decisions are found. Safe to call from several processes at once. */
export async function createDroppedIndexes(control: Db): Promise<void> {
  await droppedLettersIn(control).createIndexes([
    { name: 'by_place', key: { topic: 1, partition: 1, to: 1, from: 1 } },
  ]);
}

/** The decision to drop a letter. */
export function decisionAbout(
  letter: Pick<DeadLetter, '_id' | 'topic' | 'partition' | 'offset' | 'reason' | 'gathered' | 'published_at'>,
): DroppedLetter {
  const { _id, topic, partition, offset, reason, gathered, published_at } = letter;
  const to = gathered?.last_offset ?? offset;
  return {
    _id: gathered === undefined ? _id : `${_id}/${to}`,
    topic,
    partition,
    from: offset,
    to,
    reason: gathered === undefined ? null : reason,
    published_at,
    dropped_at: new Date(),
  };
}

/** Removes letters that a generation has although they were dropped, as when both happened at the same moment. */
export async function forgetDropped(
  control: Db,
  { db, since }: { db: Db; since: Date },
  topic: string,
): Promise<void> {
  const letters = db.collection<DeadLetter>(DEAD_LETTERS);
  const decisions = droppedLettersIn(control).find({ topic, reason: null, dropped_at: { $gte: since } });
  for await (const batch of inBatches(decisions, AT_ONCE)) {
    await letters.deleteMany({ _id: { $in: batch.map(({ _id }) => _id) } });
  }
}

/** The decisions about one topic, as a consumer asks for them slice by slice. */
export class DropDecisions {
  readonly #decisions: Collection<DroppedLetter>;
  readonly #topic: string;
  /** By partition: behind which offset there is no decision, and since when that is known. */
  readonly #ends = new Map<number, { end: number; at: number }>();

  constructor(control: Db, topic: string) {
    this.#decisions = droppedLettersIn(control);
    this.#topic = topic;
  }

  /** What is left of a slice without messages, and batches that cannot be read, that were dropped. */
  async leaveOut(slice: Slice): Promise<Slice> {
    const decisions = await this.#about(slice);
    if (decisions.length === 0) return slice;
    const isDropped = (message: KafkaMessage) =>
      decisions.some(({ from, reason, published_at }) => {
        const batch = unreadableBatch(message);
        if (batch !== undefined) return reason !== null && from === batch.from;
        const isSame = published_at.getTime() === Number(message.timestamp);
        return reason === null && from === Number(message.offset) && isSame;
      });
    return { ...slice, messages: slice.messages.filter((message) => !isDropped(message)) };
  }

  async #about({ partition, messages }: Slice): Promise<DroppedLetter[]> {
    const first = Number(messages[0]?.offset ?? 0);
    const last = Number(messages.at(-1)?.offset ?? 0);
    if (first > (await this.#endOf(partition))) return [];
    return this.#decisions
      .find({ topic: this.#topic, partition, to: { $gte: first }, from: { $lte: last } })
      .toArray();
  }

  async #endOf(partition: number): Promise<number> {
    const now = performance.now();
    const known = this.#ends.get(partition);
    if (known !== undefined && now - known.at < FRESH_MS) return known.end;
    const [highest] = await this.#decisions
      .find({ topic: this.#topic, partition }, { sort: { to: -1 }, limit: 1, projection: { to: 1 } })
      .toArray();
    const end = highest?.to ?? -1;
    this.#ends.set(partition, { end, at: now });
    return end;
  }
}
