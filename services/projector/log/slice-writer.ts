/** Writes the slices of one partition: how large each may be, and what comes of one that fails again and again. */
import { describeError, isUnavailable, isWriteConflict, StoreDataError } from '#shared/errors.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Logger } from '#shared/logging.ts';
import type { Claim } from '#shared/projection/slice/checkpoint.ts';
import type { Slice, SliceLimits } from '#shared/projection/slice/slice.ts';
import { type Span, traced, type Tracing } from '#shared/tracing.ts';
import type { ProjectorMetrics } from '../metrics.ts';

/**
 * Writes what a slice means in one transaction, and moves the claim with it.
 * @throws {StoreDataError} `fenced` when the partition has another owner.
 */
export type CommitSlice = (claim: Claim, slice: Slice) => Promise<void>;

export type Outcome = 'written' | 'failed' | 'conflict';

export interface SliceWriterOptions {
  topic: string;
  partition: number;
  /** What is projected, as metrics name it. */
  generation: string;
  limits: SliceLimits;
  commit: CommitSlice;
  /** Moves the claim behind a slice of one message, which becomes a dead letter unread. Throws as `commit`. */
  giveUp: CommitSlice;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
}

/** Attempts on a single message that fails without a server being away, before it is a dead letter. */
const MAX_ATTEMPTS = 3;
/** A longer header is of a version of the standard that does not exist. */
const TRACEPARENT_BYTES = 64;
/**
 * Events of the first slice after an assignment; each further one may have twice as many. So something is written soon, however slow
 * everything is and however often partitions are assigned anew.
 */
const FIRST_SLICE_EVENTS = 20;

export class SliceWriter {
  readonly #options: SliceWriterOptions;
  readonly #failing = new FailureTracker();
  #events: number;
  readonly #isSkipped: (message: LogMessage) => Promise<boolean>;
  /** What became of the message that was last a slice by itself; `attempts` are those that failed for no fault of a server. */
  #single = { offset: -1, failures: 0, attempts: 0 };

  /** @param isSkipped whether an operator decided to skip a message that fails. */
  constructor(options: SliceWriterOptions, isSkipped: (message: LogMessage) => Promise<boolean>) {
    this.#options = options;
    this.#isSkipped = isSkipped;
    this.#events = Math.min(FIRST_SLICE_EVENTS, options.limits.events);
  }

  /** What the next slice may have. */
  limits(events: number): SliceLimits {
    return { ...this.#options.limits, events: Math.min(this.#events, events) };
  }

  /** Writes one slice. One that fails is followed by one half as long: a transaction can be too large. */
  async write(claim: Claim, slice: Slice): Promise<Outcome> {
    const { metrics, logger, topic, partition, generation, limits, commit, giveUp } = this.#options;
    const { length } = slice.messages;
    const end = metrics.transactionSeconds.startTimer({ topic, generation });
    const failed = (kind: string) => metrics.transactionFailures.inc({ topic, generation, kind });
    try {
      const write = (await this.#shouldGiveUp(slice)) ? giveUp : commit;
      await traced(this.#beginSpan(slice), () => write(claim, slice));
      this.#events = Math.min(this.#events * 2, limits.events);
      if (this.#failing.end()) metrics.failing.remove({ topic, partition, generation });
      return 'written';
    } catch (error) {
      if (isFenced(error)) {
        failed('fenced');
        logger.info({ position: claim.position }, 'fenced: another consumer has the partition');
        return 'failed';
      }
      const unavailable = isUnavailable(error);
      failed(unavailable ? 'unavailable' : 'unexpected');
      const level = unavailable ? 'warn' : 'error';
      this.noteFailure(claim.position, level, error, 'transaction failed and is tried again', length);
      this.#single.failures += 1;
      if (!unavailable) this.#single.attempts += 1;
      this.#events = Math.max(1, Math.floor(length / 2));
      return isWriteConflict(error) ? 'conflict' : 'failed';
    } finally {
      end();
    }
  }

  /** Whether a slice has a single message that failed too often, or that failed and is to be skipped. */
  async #shouldGiveUp({ messages: [message, ...others] }: Slice): Promise<boolean> {
    const offset = message === undefined || others.length > 0 ? -1 : Number(message.offset);
    if (this.#single.offset !== offset) this.#single = { offset, failures: 0, attempts: 0 };
    if (message === undefined || offset === -1 || this.#single.failures === 0) return false;
    return this.#single.attempts >= MAX_ATTEMPTS || (await this.#isSkipped(message));
  }

  #beginSpan({ topic, partition, messages }: Slice): Span | undefined {
    const { tracing, generation } = this.#options;
    if (tracing === null || messages.length === 0) return undefined;
    const span = tracing.begin({
      name: `process ${topic}`,
      kind: 'consumer',
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(partition),
        'messaging.kafka.offset': Number(messages[0]?.offset),
        'messaging.batch.message_count': messages.length,
        'store_data.generation': generation,
      },
      traceparents: traceparentsOf(messages),
    });
    return span ?? undefined;
  }

  /** Says that what is written next has failed: at once, and then every minute for as long as it does. */
  noteFailure(
    offset: number,
    level: 'warn' | 'error',
    error: unknown,
    message: string,
    events?: number,
  ): void {
    const failures = this.#failing.failed(offset);
    if (failures === null) return;
    const size = events === undefined ? {} : { events };
    this.#options.logger[level]({ offset, ...size, ...failures, error: describeError(error) }, message);
  }

  /** Who can claim has a database that answers: if a slice failed before, that was no outage. */
  noteAnswered(): void {
    const { metrics, topic, partition, generation } = this.#options;
    const failures = this.#failing.answered();
    if (failures > 0) metrics.failing.set({ topic, partition, generation }, failures);
  }
}

/** Whether an error says that the partition has another owner. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreDataError && error.code === 'fenced';
}

/** The traces that the messages of a slice come from, each once. */
function traceparentsOf(messages: Slice['messages']): string[] {
  const found = new Set<string>();
  for (const { headers } of messages) {
    const header = headers?.['traceparent'];
    if (Buffer.isBuffer(header) && header.length <= TRACEPARENT_BYTES) found.add(header.toString('latin1'));
  }
  return [...found];
}

const SAID_EVERY_MS = 60_000;

interface Failures {
  /** How many in turn. */
  attempts: number;
  seconds: number;
}

export class FailureTracker {
  #offset: number | null = null;
  #since = 0;
  #attempts = 0;
  #saidAt = 0;
  #answered = 0;

  /** Notes a failure at an offset. @returns what to say, at once and then every minute; `null` when it was just said. */
  failed(offset: number, now = performance.now()): Failures | null {
    if (offset !== this.#offset) {
      this.end();
      this.#offset = offset;
      this.#since = now;
    }
    this.#attempts += 1;
    if (this.#attempts > 1 && now - this.#saidAt < SAID_EVERY_MS) return null;
    this.#saidAt = now;
    return { attempts: this.#attempts, seconds: Math.round((now - this.#since) / 1_000) };
  }

  /** Notes that the database answers: the failure before was no outage. @returns how many of those in turn were none. */
  answered(): number {
    if (this.#attempts > 0) this.#answered += 1;
    return this.#answered;
  }

  /** Notes that it goes on. @returns whether it had failed. */
  end(): boolean {
    const hadFailed = this.#attempts > 0;
    this.#offset = null;
    this.#attempts = 0;
    this.#answered = 0;
    return hadFailed;
  }
}
