/** A partition of Kafka in memory: what its fetches show, with gaps of transactions, unreadable batches, retention, lost ends and topics made again. */
import type { LogMessage, UnreadableBatch } from '#shared/kafka/message.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import type { FetchedBatch } from '#projector/log/continuity.ts';
import type { Random } from '../../deploy/testing/random.ts';

/** What lies at some offsets: a message, a batch that cannot be read, or nothing (markers, and what was aborted). */
export interface Entry {
  from: number;
  to: number;
  message: LogMessage | null;
  unreadable: UnreadableBatch | null;
}

const MAX_FETCHED = 12;

export class PartitionLog {
  entries: Entry[] = [];
  start = 0;
  end = 0;
  /** Of the topic: another one after it was made again. */
  incarnation = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  get bounds(): PartitionBounds {
    return { start: this.start, end: this.end };
  }

  append(key: string, value: string, publishedAt: number): Entry {
    const offset = String(this.end);
    const message = {
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: {},
      offset,
      timestamp: String(publishedAt),
      attributes: 0,
    };
    return this.#add(1, message, null);
  }

  /** What a transaction leaves: its marker, and messages that were aborted. */
  appendGap(length: number): void {
    this.#add(length, null, null);
  }

  /** A batch of which nobody knows the messages; `reason` says whether it stops the partition. */
  appendUnreadable(length: number, reason: UnreadableBatch['reason']): Entry {
    const [from, to] = [this.end, this.end + length - 1];
    const unreadable = { reason, detail: `it is ${reason}`, from, to, digest: this.#random.id(22) };
    return this.#add(length, null, unreadable);
  }

  #add(length: number, message: LogMessage | null, unreadable: UnreadableBatch | null): Entry {
    const entry = { from: this.end, to: this.end + length - 1, message, unreadable };
    this.entries.push(entry);
    this.end += length;
    return entry;
  }

  /** A fetch from an offset; `null` where there is nothing, or the offset is none of the log. */
  fetch(from: number): FetchedBatch | null {
    if (from < this.start || from >= this.end) return null;
    const first = this.entries.findIndex(({ to }) => to >= from);
    const part = this.entries.slice(first, first + 1 + this.#random.below(MAX_FETCHED));
    const last = part.at(-1);
    if (first === -1 || last === undefined) return null;
    const messages = part.map((entry): LogMessage => {
      const { message, unreadable, to } = entry;
      if (message !== null) return message;
      const empty = {
        key: null,
        value: null,
        headers: {},
        offset: String(Math.max(to, from)),
        timestamp: '0',
        attributes: 0,
      };
      return Object.assign(empty, unreadable === null ? { gapFrom: entry.from } : { unreadable });
    });
    return {
      messages,
      firstOffset: () => messages[0]?.offset ?? null,
      lastOffset: () => String(last.to),
      highWatermark: String(this.end),
    };
  }

  /** Deletes what lies before an offset, as retention does. */
  deleteBefore(offset: number): void {
    this.start = Math.max(this.start, Math.min(offset, this.end));
    this.entries = this.entries.filter(({ to }) => to >= this.start);
  }

  /** Loses its end, as after an unclean election. */
  loseFrom(offset: number): void {
    this.entries = this.entries.filter(({ to }) => to < offset);
    this.end = Math.max(this.start, (this.entries.at(-1)?.to ?? this.start - 1) + 1);
    this.incarnation += 1;
  }
}
