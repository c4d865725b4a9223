/**
 * Proves that each batch continues the applied log. An offset alone does not: between two reads a
 * topic may be created again or lose its end, and be longer again by the next one.
 *
 * So a batch is taken only if the same answer of the broker holds the last message that was taken:
 *
 * - `prove`: while the log has more, each read begins with that message.
 * - `wait`: at the end of the log a read begins behind it and waits. What comes is a signal, not taken: the next read proves it.
 * - `ahead`: the last message fills an answer alone, or a skipped batch ends it. What is read behind it is taken once the log has shown the
 *   last message again.
 */
import { StoreDataError } from '#shared/errors.ts';
import type { Answer, Wanted } from '#shared/kafka/fetcher.ts';
import { damagedBatch, type LogMessage, type UnreadableBatch } from '#shared/kafka/message.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import { batchHeader } from '#shared/kafka/record-batch.ts';
import {
  identityOf,
  isSameMessage,
  type LastMessage,
} from '#shared/projection/slice/checkpoint.ts';
import type { LoopOptions } from './edges.ts';

/** The messages that are applied next; empty if the log has none at the offsets before `next`. */
export interface Taken {
  messages: readonly LogMessage[];
  /** The message that they follow; `null` at the beginning of a log. */
  after: LastMessage | null;
  next: number;
  logEnd: number;
}

export type Verdict =
  | { kind: 'take'; taken: Taken }
  /** Undecided before the next read. */
  | { kind: 'undecided' }
  /** The bounds of the log decide. */
  | { kind: 'doubt' }
  /** The last message lies in an unreadable batch, so it proves nothing. */
  | { kind: 'hidden'; batch: UnreadableBatch }
  /** At the offset of the last message the log has something else. */
  | { kind: 'replaced' };

/**
 * A read that begins within a record batch brings all of it again: it gets as much extra room, or a
 * large one would leave little.
 */
const MAX_AGAIN_BYTES = 1_048_576;

export class Continuity {
  #last: LastMessage | null;
  #next: number;
  /** `false` if there is no last message, or the log no longer has it. */
  #isProvable: boolean;
  #read: 'prove' | 'wait' | 'ahead' = 'prove';
  /** Read behind the last message, and not proven yet. */
  #ahead: Answer | null = null;
  readonly #bytes: number;
  /** The bytes of the batch that holds the last message. */
  #againBytes = 0;

  /**
   * @param last the last message applied.
   * @param next the position after it: the offset that is applied next.
   * @param bytes of one read.
   */
  constructor(last: LastMessage | null, next: number, bytes: number) {
    this.#last = last;
    this.#next = next;
    this.#isProvable = last !== null;
    this.#bytes = bytes;
  }

  get next(): number {
    return this.#next;
  }

  get last(): LastMessage | null {
    return this.#last;
  }

  /** Whether a read that begins with the last message would say more than the present one. */
  get canProve(): boolean {
    return this.#isProvable && this.#read !== 'prove';
  }

  /** What is read next. */
  get wanted(): Wanted {
    const atEnd = this.#read === 'wait';
    if (this.#read !== 'prove' || !this.#isProvable || this.#last === null) {
      return { from: this.#next, bytes: this.#bytes, atEnd };
    }
    return {
      from: this.#last.offset,
      bytes: this.#bytes + Math.min(this.#againBytes, MAX_AGAIN_BYTES),
      atEnd,
    };
  }

  /** Lets the next read begin with the last message, although the log may have nothing new. */
  prove(): void {
    this.#read = 'prove';
    this.#ahead = null;
  }

  /**
   * Takes note of the bounds: without a last message only they say whether the log has more.
   * @returns whether it no longer has that.
   */
  noteBounds({ start, end }: PartitionBounds): boolean {
    const isCutOff = this.#isProvable && this.#last !== null && this.#last.offset < start;
    if (isCutOff) this.#isProvable = false;
    this.prove();
    if (!this.#isProvable && this.#next >= end) this.#read = 'wait';
    return isCutOff;
  }

  giveUpProof(): void {
    this.#isProvable = false;
    this.prove();
  }

  /** Judges the answer to what was wanted. */
  judge(answer: Answer): Verdict {
    const { messages } = answer;
    if (answer.isOutside) return { kind: 'doubt' };
    const last = this.#last;
    const isRead = (message: LogMessage) => Number(message.offset) >= this.#next;
    if (last === null || !this.#isProvable) {
      return this.#take(messages.filter(isRead), answer);
    }
    if (this.#read !== 'prove') {
      this.#ahead = this.#read === 'ahead' ? answer : null;
      this.#read = 'prove';
      return { kind: 'undecided' };
    }
    const at = messages.findIndex(({ offset }) => Number(offset) === last.offset);
    const found = messages[at];
    if (found === undefined || !isSameMessage(last, found)) {
      const hiding = messages.find(
        ({ unreadable }) => unreadable !== undefined && holds(unreadable, last),
      );
      if (hiding?.unreadable !== undefined) return { kind: 'hidden', batch: hiding.unreadable };
      return { kind: 'replaced' };
    }
    if (answer.next > this.#next) return this.#take(messages.slice(at + 1).filter(isRead), answer);
    const ahead = this.#ahead;
    if (ahead !== null) return this.#take(ahead.messages.filter(isRead), ahead);
    this.#read = answer.end > this.#next ? 'ahead' : 'wait';
    return { kind: 'undecided' };
  }

  #take(messages: readonly LogMessage[], { next, end }: Answer): Verdict {
    const after = this.#last;
    const newest = messages.findLast((message) => damagedBatch(message) === undefined);
    if (newest !== undefined) {
      this.#last = identityOf(newest);
      this.#isProvable = true;
      this.#againBytes =
        newest.batch === undefined ? 0 : (batchHeader(newest.batch, 0)?.bytes ?? 0);
    }
    this.#next = next;
    this.#ahead = null;
    this.#read = next < end ? 'prove' : 'wait';
    return { kind: 'take', taken: { messages, after, next, logEnd: end } };
  }
}

function holds({ from, to }: UnreadableBatch, { offset }: LastMessage): boolean {
  return from <= offset && (to === null || to >= offset);
}

type LogOfCheckpoint = Pick<LoopOptions, 'topic' | 'partition' | 'recoveryHint'>;

/**
 * @throws {StoreDataError} `history_lost` if the log does not reach to the offset that is applied
 * next.
 */
export function checkHistory(
  log: LogOfCheckpoint,
  position: number,
  { start, end }: PartitionBounds,
): void {
  const gone = `the log begins at ${start}, but ${position} is the next to apply: events in between are gone`;
  if (position < start) throw historyLost(log, gone);
  const ends = `the log ends at ${end}, but the checkpoint stands at ${position}: this is another log than it was made from`;
  if (position > end) throw historyLost(log, ends);
}

export function replacedLog(log: LogOfCheckpoint, last: number | undefined): StoreDataError {
  const why = `the message at ${last} is not the one that was applied: this is another log than the checkpoint was made from`;
  return historyLost(log, why);
}

function historyLost(
  { topic, partition, recoveryHint }: LogOfCheckpoint,
  why: string,
): StoreDataError {
  return new StoreDataError('history_lost', `${topic}/${partition}: ${why}; ${recoveryHint}`);
}
