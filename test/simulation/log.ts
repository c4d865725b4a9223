/**
 * A Kafka partition in memory with transactions, compaction, unreadable batches, retention, lost
 * ends and recreated topics. `test/simulation/log.integration.test.ts` runs the same cases against
 * a real broker.
 */
import type { Answer } from '#shared/kafka/fetcher.ts';
import { isDamaged, type LogMessage, type UnreadableBatch } from '#shared/kafka/message.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import type { Random } from '../../deploy/testing/random.ts';

/**
 * The content of some offsets: a message, an unreadable batch, or nothing (markers and aborted
 * messages).
 */
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
  /** The first entry of the open transaction, from which on nothing is delivered. */
  #open: Entry | null = null;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The end for readers of committed messages. */
  get bounds(): PartitionBounds {
    return { start: this.start, end: this.#open?.from ?? this.end };
  }

  append(key: string, value: string, publishedAt: number): Entry {
    const offset = String(this.end);
    const timestamp = String(publishedAt);
    const bytes = { key: Buffer.from(key), value: Buffer.from(value) };
    return this.#add(1, { ...bytes, headers: {}, offset, timestamp, attributes: 0 }, null);
  }

  /** The offsets that a transaction leaves empty: its marker and aborted messages. */
  appendGap(length: number): void {
    this.#add(length, null, null);
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Opens a transaction with some of the last entries. */
  openTransaction(entries: readonly Entry[]): void {
    this.#open = entries[0] ?? null;
  }

  /** Ends it with a marker. An aborted one is hidden. */
  endTransaction(entries: readonly Entry[], isAborted: boolean): void {
    if (isAborted) for (const entry of entries) entry.message = null;
    this.#open = null;
    this.appendGap(1);
  }

  /** Removes batches like compaction, which always keeps the last one. */
  skipOffsets(length: number): void {
    this.end += length;
  }

  /** Appends a batch with unknown messages; `reason` decides whether it stops the partition. */
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

  /** Whether a fetch from an offset returns immediately. */
  isReadable(asked: number): boolean {
    return this.#isOutside(asked) || this.#shownFrom(asked).length > 0;
  }

  #isOutside(asked: number): boolean {
    return asked < this.start || asked > this.end;
  }

  #shownFrom(from: number): Entry[] {
    const { end } = this.bounds;
    return this.entries.filter((entry) => entry.to >= from && entry.to < end);
  }

  /** A fetch from an offset, cut at random. */
  fetch(from: number): Answer {
    const { end } = this.bounds;
    if (this.#isOutside(from)) return { messages: [], next: 0, end, isOutside: true };
    const shown = this.#shownFrom(from);
    // A damaged batch ends its answer.
    const damaged = shown.findIndex(
      ({ unreadable }) => unreadable !== null && isDamaged(unreadable),
    );
    const part = shown.slice(
      0,
      Math.min(1 + this.#random.below(MAX_FETCHED), damaged === -1 ? Infinity : damaged + 1),
    );
    const messages = part.flatMap(({ message, unreadable, to }): LogMessage[] => {
      if (unreadable !== null)
        return [{ ...NOTHING, offset: String(Math.max(to, from)), unreadable }];
      return message === null ? [] : [message];
    });
    return { messages, next: (part.at(-1)?.to ?? from - 1) + 1, end, isOutside: false };
  }

  /** Deletes entries before an offset, like retention. */
  deleteBefore(offset: number): void {
    this.start = Math.max(this.start, Math.min(offset, this.end));
    this.entries = this.entries.filter(({ to }) => to >= this.start);
  }

  /** Loses its last entries, like after an unclean election. */
  loseFrom(offset: number): void {
    this.entries = this.entries.filter(({ to }) => to < offset);
    this.end = Math.max(this.start, (this.entries.at(-1)?.to ?? this.start - 1) + 1);
  }

  makeAnew(): void {
    this.entries = [];
    this.start = this.end = 0;
    this.#open = null;
  }
}

const NOTHING = { key: null, value: null, headers: {}, timestamp: '0', attributes: 0 };
