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

export type Continuity = ReturnType<typeof createContinuity>;

/**
 * @param applied the last message applied.
 * @param position the offset that is applied next.
 * @param bytes of one read.
 */
export function createContinuity(applied: LastMessage | null, position: number, bytes: number) {
  let last = applied;
  let next = position;
  /**
   * The last message, while it can prove that the log is the same: a read must show it again. `null`
   * if there is none, or if the log no longer has it.
   */
  let proof = last;
  let reading: 'prove' | 'wait' | 'ahead' = 'prove';
  /** Read behind the last message, and not proven yet. */
  let ahead: Answer | null = null;
  /** The bytes of the batch that holds the last message. */
  let againBytes = 0;

  /** Lets the next read begin with the last message, although the log may have nothing new. */
  function prove(): void {
    reading = 'prove';
    ahead = null;
  }

  function take(messages: readonly LogMessage[], { next: behind, end }: Answer): Verdict {
    const after = last;
    const newest = messages.findLast((message) => damagedBatch(message) === undefined);
    if (newest !== undefined) {
      last = proof = identityOf(newest);
      againBytes = (newest.batch && batchHeader(newest.batch, 0)?.bytes) ?? 0;
    }
    next = behind;
    ahead = null;
    reading = behind < end ? 'prove' : 'wait';
    return { kind: 'take', taken: { messages, after, next: behind, logEnd: end } };
  }

  return {
    prove,

    get next(): number {
      return next;
    },

    get last(): LastMessage | null {
      return last;
    },

    /** Whether a read that begins with the last message would say more than the present one. */
    get canProve(): boolean {
      return proof !== null && reading !== 'prove';
    },

    /** What is read next. */
    get wanted(): Wanted {
      if (reading !== 'prove' || proof === null)
        return { from: next, bytes, atEnd: reading === 'wait' };
      const again = Math.min(againBytes, MAX_AGAIN_BYTES);
      return { from: proof.offset, bytes: bytes + again, atEnd: false };
    },

    /**
     * Takes note of the bounds: without a last message only they say whether the log has more.
     * @returns whether it no longer has that.
     */
    noteBounds({ start, end }: PartitionBounds): boolean {
      const isCutOff = proof !== null && proof.offset < start;
      if (isCutOff) proof = null;
      prove();
      if (proof === null && next >= end) reading = 'wait';
      return isCutOff;
    },

    giveUpProof(): void {
      proof = null;
      prove();
    },

    /** Judges the answer to what was wanted. */
    judge(answer: Answer): Verdict {
      const { messages } = answer;
      if (answer.isOutside) return { kind: 'doubt' };
      const shown = proof;
      const isRead = (message: LogMessage) => Number(message.offset) >= next;
      if (shown === null) return take(messages.filter(isRead), answer);
      if (reading !== 'prove') {
        ahead = reading === 'ahead' ? answer : null;
        reading = 'prove';
        return { kind: 'undecided' };
      }
      const at = messages.findIndex(({ offset }) => Number(offset) === shown.offset);
      const found = messages[at];
      if (found === undefined || !isSameMessage(shown, found)) {
        const batch = messages
          .map(({ unreadable }) => unreadable)
          .find((unreadable) => unreadable !== undefined && holds(unreadable, shown));
        return batch === undefined ? { kind: 'replaced' } : { kind: 'hidden', batch };
      }
      if (answer.next > next) return take(messages.slice(at + 1).filter(isRead), answer);
      if (ahead !== null) return take(ahead.messages.filter(isRead), ahead);
      reading = answer.end > next ? 'ahead' : 'wait';
      return { kind: 'undecided' };
    },
  };
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
