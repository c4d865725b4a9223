/**
 * Writes the slices of one partition: bounds their size, halves one that fails, and gives up a
 * message that fails alone.
 */
import {
  canBeFaultOfMessage,
  describeError,
  isUnavailable,
  isWriteConflict,
  StoreDataError,
} from '#shared/errors.ts';
import { countFailures } from '#shared/logging.ts';
import {
  type Claim,
  identityOf,
  type Slice,
  type SliceLimits,
} from '#shared/projection/slice/checkpoint.ts';
import type { LoopOptions } from './edges.ts';

/**
 * `suspect`: a single message has failed often enough to become a dead letter, should it fail once
 * more after a pause.
 */
export type Failed = 'failed' | 'conflict' | 'suspect';

type SliceWriterOptions = Pick<LoopOptions, 'limits' | 'store' | 'report' | 'clock' | 'logger'>;

/**
 * After this many attempts that failed by errors which can be its own fault, a single message is
 * tried once more, alone: after a pause during which the checkpoint was written. Only then it
 * becomes a dead letter.
 */
const MAX_ATTEMPTS = 3;
/**
 * Events of the first slice after an assignment; each further one may have twice as many. So every
 * assignment makes progress, even on a slow machine with frequent rebalances.
 */
const FIRST_SLICE_EVENTS = 20;

export function createSliceWriter({ limits, store, report, clock, logger }: SliceWriterOptions) {
  const failing = countFailures();
  /** Failures in a row after which MongoDB answered: no outage. */
  let answered = 0;
  let mostEvents = Math.min(FIRST_SLICE_EVENTS, limits.events);
  /**
   * The message that was last a slice by itself. `attempts` counts failures that can be its fault.
   */
  let single = { offset: -1, failures: 0, attempts: 0 };

  /**
   * Whether the slice is a single message that failed too often, or that failed and that an
   * operator decided to skip.
   */
  async function shouldGiveUp({ messages: [message, ...others] }: Slice): Promise<boolean> {
    const offset = message === undefined || others.length > 0 ? -1 : Number(message.offset);
    if (single.offset !== offset) single = { offset, failures: 0, attempts: 0 };
    if (message === undefined || offset === -1 || single.failures === 0) return false;
    if (store.givesUp && single.attempts > MAX_ATTEMPTS) return true;
    const { digest } = identityOf(message);
    return (await store.skippedTo({ from: offset, digest })) !== null;
  }

  return {
    limits: (events: number): SliceLimits => ({ ...limits, events: Math.min(mostEvents, events) }),

    /**
     * Writes one slice. After a failure the next one is half as long: a transaction can be too
     * large.
     */
    async write(claim: Claim, slice: Slice): Promise<'written' | Failed> {
      const began = clock.now();
      try {
        if (await shouldGiveUp(slice)) await store.giveUp(claim, slice);
        else await store.commit(claim, slice);
        report.transaction(clock.now() - began, null);
        mostEvents = Math.min(mostEvents * 2, limits.events);
        if (failing.end()) report.failing(0);
        answered = 0;
        return 'written';
      } catch (error) {
        const unavailable = isUnavailable(error);
        const kind = unavailable ? 'unavailable' : 'unexpected';
        report.transaction(clock.now() - began, isFenced(error) ? 'fenced' : kind);
        const { position: offset } = claim;
        if (isFenced(error)) {
          logger.info({ position: offset }, 'fenced: another consumer has the partition');
          return 'failed';
        }
        const { length: events } = slice.messages;
        const failures = failing.failed(clock.now());
        if (failures !== null) {
          const facts = { offset, events, ...failures, error: describeError(error) };
          logger[unavailable ? 'warn' : 'error'](facts, 'transaction failed and is tried again');
        }
        single.failures += 1;
        mostEvents = Math.max(1, Math.floor(events / 2));
        if (canBeFaultOfMessage(error)) {
          single.attempts += 1;
          if (events === 1 && single.attempts >= MAX_ATTEMPTS) return 'suspect';
        }
        return isWriteConflict(error) ? 'conflict' : 'failed';
      }
    },

    /** Called when the checkpoint is claimed again: the database has answered. */
    noteAnswered(): void {
      if (!failing.isFailing) return;
      answered += 1;
      report.failing(answered);
    },
  };
}

export function isFenced(error: unknown): boolean {
  return error instanceof StoreDataError && error.code === 'fenced';
}
