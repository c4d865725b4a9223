/**
 * Proves that each batch continues the applied log. An offset alone does not: between two fetches a topic may be created again or lose its
 * end, and be longer again by the next one.
 *
 * So a batch is taken only if the same answer of the broker holds the last message that was taken. While the log has more, each fetch
 * begins with that message. At the end of the log a fetch waits for new messages and begins behind it; its messages are held back until
 * the next fetch has shown the last message again.
 */
import { damagedBatch, firstOffsetOf, isGap, type LogMessage, type UnreadableBatch } from '#shared/kafka/message.ts';
import { identityOf, isSameMessage, type LastMessage } from '#shared/projection/slice/checkpoint.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import type { LoopOptions } from './edges.ts';

export interface FetchedBatch {
  messages: readonly LogMessage[];
  firstOffset: () => string | null;
  lastOffset: () => string;
  highWatermark: string;
}

/** The messages that are applied next; empty if only gaps of the log were fetched. */
export interface Taken {
  messages: readonly LogMessage[];
  /** The message that they follow; `null` at the beginning of a log. */
  after: LastMessage | null;
  next: number;
  logEnd: number;
}

export type Verdict =
  | { kind: 'take'; taken: Taken }
  /** Undecided before the next fetch. */
  | { kind: 'undecided' }
  /** The bounds of the log must be read. `isMissing`: it does not show the last message. */
  | { kind: 'doubt'; isMissing: boolean }
  /** The last message lies in an unreadable batch, so it proves nothing. */
  | { kind: 'hidden'; batch: UnreadableBatch }
  /** At the offset of the last message the log has something else. */
  | { kind: 'replaced' };

/** After this many fetches without the last message it is missing: after one alone a seek may not have taken effect. */
const MAX_MISSES = 2;

export class Continuity {
  #last: LastMessage | null;
  #next: number;
  /** `false` if there is no last message, or the log no longer has it. */
  #isProvable: boolean;
  #from: number;
  /** Messages behind the last one, until the next fetch proves that they follow it. */
  #unproven: FetchedBatch | null = null;
  /** The first offset behind a gap, until a second fetch shows the same gap. */
  #gapAt: number | null = null;
  #misses = 0;

  /**
   * @param last the last message applied.
   * @param next the position after it: the offset that is applied next.
   */
  constructor(last: LastMessage | null, next: number) {
    this.#last = last;
    this.#next = next;
    this.#isProvable = last !== null;
    this.#from = this.#proofOffset();
  }

  get from(): number {
    return this.#from;
  }

  get next(): number {
    return this.#next;
  }

  get last(): LastMessage | null {
    return this.#last;
  }

  get fetchesLast(): boolean {
    return this.#isProvable && this.#from === this.#last?.offset;
  }

  /** Lets the next fetch begin with the last message, although the log may have nothing new. */
  fetchLast(): void {
    this.#from = this.#proofOffset();
  }

  /** Gives up the proof if the log begins behind the last message. @returns whether it did. */
  giveUpProofBefore(logStart: number): boolean {
    if (!this.#isProvable || this.#last === null || this.#last.offset >= logStart) return false;
    this.giveUpProof();
    return true;
  }

  giveUpProof(): void {
    this.#isProvable = false;
    this.#unproven = null;
    this.#from = this.#next;
  }

  /** Judges a fetched batch. The next fetch must begin at `from` then. */
  judge(batch: FetchedBatch): Verdict {
    const last = this.#last;
    if (!this.#isProvable || last === null) return this.#judgeUnproven(batch);
    const at = batch.messages.findIndex(({ offset }) => Number(offset) === last.offset);
    const found = batch.messages[at];
    if (found === undefined || !isSameMessage(last, found)) return this.#judgeWithout(batch, last);
    this.#misses = 0;
    // The placeholder of a skipped batch is fetched again.
    const behind = batch.messages.slice(at + 1).filter(({ offset }) => Number(offset) >= this.#next);
    if (behind.length > 0) return this.#take(batch, behind);
    this.#next = Math.max(this.#next, Number(batch.lastOffset()) + 1);
    const unproven = this.#unproven;
    this.#unproven = null;
    this.#from = this.#next;
    // The last message and the next ones do not fit into one answer. The log was the same before and after they were fetched.
    const isProven =
      unproven !== null && Number(unproven.messages[0]?.offset) >= this.#next && this.#isWithoutGap(unproven);
    return isProven ? this.#take(unproven, unproven.messages) : { kind: 'undecided' };
  }

  #judgeWithout(batch: FetchedBatch, last: LastMessage): Verdict {
    const { first, end } = reachOf(batch);
    const wasAsked = this.fetchesLast;
    const hiding = batch.messages.find(({ unreadable }) => unreadable !== undefined && holds(unreadable, last));
    if (wasAsked && hiding?.unreadable !== undefined) return { kind: 'hidden', batch: hiding.unreadable };
    if (first <= last.offset && end > last.offset) return { kind: 'replaced' };
    this.#from = last.offset;
    if (first > last.offset && !wasAsked) {
      this.#unproven = batch;
      return { kind: 'undecided' };
    }
    this.#misses += 1;
    if (this.#misses < MAX_MISSES) return { kind: 'undecided' };
    this.#misses = 0;
    return { kind: 'doubt', isMissing: first > last.offset };
  }

  /** Without a last message in the log: its first messages, or those behind deleted ones. */
  #judgeUnproven(batch: FetchedBatch): Verdict {
    this.#from = this.#next;
    if (!this.#isWithoutGap(batch)) return { kind: 'doubt', isMissing: false };
    const messages = batch.messages.filter(({ offset }) => Number(offset) >= this.#next);
    return messages.length > 0 ? this.#take(batch, messages) : { kind: 'undecided' };
  }

  /** Whether a batch begins at the next position. A gap counts only when two fetches show it: a seek may not have taken effect. */
  #isWithoutGap({ messages }: FetchedBatch): boolean {
    const first = Math.min(...messages.slice(0, 1).map(firstOffsetOf));
    if (first <= this.#next || first === this.#gapAt) return true;
    this.#gapAt = first;
    return false;
  }

  #take(batch: FetchedBatch, messages: readonly LogMessage[]): Verdict {
    const after = this.#last;
    const read = messages.filter((message) => !isGap(message));
    const newest = read.findLast((message) => damagedBatch(message) === undefined);
    if (newest !== undefined) {
      this.#last = identityOf(newest);
      this.#isProvable = true;
    }
    this.#next = reachOf(batch).end;
    this.#unproven = null;
    this.#gapAt = null;
    this.#misses = 0;
    const logEnd = Number(batch.highWatermark);
    this.#from = this.#next < logEnd ? this.#proofOffset() : this.#next;
    return { kind: 'take', taken: { messages: read, after, next: this.#next, logEnd } };
  }

  #proofOffset(): number {
    return this.#isProvable && this.#last !== null ? this.#last.offset : this.#next;
  }
}

function holds({ from, to }: UnreadableBatch, { offset }: LastMessage): boolean {
  return from <= offset && (to === null || to >= offset);
}

function reachOf(batch: FetchedBatch): { first: number; end: number } {
  const first = Number(batch.firstOffset() ?? batch.messages[0]?.offset);
  return { first, end: Number(batch.lastOffset()) + 1 };
}

type LogOfCheckpoint = Pick<LoopOptions, 'topic' | 'partition' | 'recoveryHint'>;

/** @throws {StoreDataError} `history_lost` if the log does not reach to the offset that is applied next. */
export function checkHistory(log: LogOfCheckpoint, position: number, { start, end }: PartitionBounds): void {
  const gone = `the log begins at ${start}, but ${position} is to be applied next: events in between are gone`;
  if (position < start) throw historyLost(log, gone);
  const ends = `the log ends at ${end}, but the checkpoint stands at ${position}: this is another log than it was made from`;
  if (position > end) throw historyLost(log, ends);
}

export function replacedLog(log: LogOfCheckpoint, last: number | undefined): StoreDataError {
  const why = `the message at ${last} is not the one that was applied: this is another log than the checkpoint was made from`;
  return historyLost(log, why);
}

function historyLost({ topic, partition, recoveryHint }: LogOfCheckpoint, why: string): StoreDataError {
  return new StoreDataError('history_lost', `${topic}/${partition}: ${why}; ${recoveryHint}`);
}
