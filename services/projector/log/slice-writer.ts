/** Writes the slices of one partition: how large each may be, and what comes of one that fails again and again. */
import { describeError, isUnavailable, isWriteConflict, StoreDataError } from '#shared/errors.ts';
import { FailureTracker } from '#shared/logging.ts';
import { type Claim, identityOf } from '#shared/projection/slice/checkpoint.ts';
import type { Slice, SliceLimits } from '#shared/projection/slice/slice.ts';
import type { LoopOptions } from './edges.ts';

export type Failed = 'failed' | 'conflict';

type SliceWriterOptions = Pick<LoopOptions, 'limits' | 'store' | 'report' | 'clock' | 'logger'>;

/** Attempts on a single message that fails without a server being away, before it is a dead letter. */
const MAX_ATTEMPTS = 3;
/**
 * Events of the first slice after an assignment; each further one may have twice as many. So something is written soon, however slow
 * everything is and however often partitions are assigned anew.
 */
const FIRST_SLICE_EVENTS = 20;

export class SliceWriter {
  readonly #options: SliceWriterOptions;
  readonly #failing = new FailureTracker();
  /** After how many of the failures in turn the database answered: those were no outage. */
  #answered = 0;
  #events: number;
  /** What became of the message that was last a slice by itself; `attempts` are those that failed for no fault of a server. */
  #single = { offset: -1, failures: 0, attempts: 0 };

  constructor(options: SliceWriterOptions) {
    this.#options = options;
    this.#events = Math.min(FIRST_SLICE_EVENTS, options.limits.events);
  }

  limits(events: number): SliceLimits {
    return { ...this.#options.limits, events: Math.min(this.#events, events) };
  }

  /** Writes one slice. One that fails is followed by one half as long: a transaction can be too large. */
  async write(claim: Claim, slice: Slice): Promise<'written' | Failed> {
    const { limits, store, report, clock, logger } = this.#options;
    const began = clock.now();
    try {
      if (await this.#shouldGiveUp(slice)) await store.giveUp(claim, slice);
      else await store.commit(claim, slice);
      report.transaction(clock.now() - began, null);
      this.#events = Math.min(this.#events * 2, limits.events);
      if (this.#failing.end()) report.failing(0);
      this.#answered = 0;
      return 'written';
    } catch (error) {
      const unavailable = isUnavailable(error);
      const kind = unavailable ? 'unavailable' : 'unexpected';
      report.transaction(clock.now() - began, isFenced(error) ? 'fenced' : kind);
      if (isFenced(error)) {
        logger.info({ position: claim.position }, 'fenced: another consumer has the partition');
        return 'failed';
      }
      const { length } = slice.messages;
      const failures = this.#failing.failed(clock.now());
      if (failures !== null) {
        const facts = { offset: claim.position, events: length, ...failures, error: describeError(error) };
        logger[unavailable ? 'warn' : 'error'](facts, 'transaction failed and is tried again');
      }
      this.#single.failures += 1;
      if (!unavailable) this.#single.attempts += 1;
      this.#events = Math.max(1, Math.floor(length / 2));
      return isWriteConflict(error) ? 'conflict' : 'failed';
    }
  }

  /** Whether a slice has a single message that failed too often, or that failed and that an operator decided to skip. */
  async #shouldGiveUp({ messages: [message, ...others] }: Slice): Promise<boolean> {
    const offset = message === undefined || others.length > 0 ? -1 : Number(message.offset);
    if (this.#single.offset !== offset) this.#single = { offset, failures: 0, attempts: 0 };
    if (message === undefined || offset === -1 || this.#single.failures === 0) return false;
    if (this.#single.attempts >= MAX_ATTEMPTS) return true;
    const { digest } = identityOf(message);
    return (await this.#options.store.skippedTo({ from: offset, digest })) !== null;
  }

  /** Called when the checkpoint is claimed again: the database answers. */
  noteAnswered(): void {
    if (!this.#failing.isFailing) return;
    this.#answered += 1;
    this.#options.report.failing(this.#answered);
  }
}

export function isFenced(error: unknown): boolean {
  return error instanceof StoreDataError && error.code === 'fenced';
}
