/** Writes the slices of one partition: how large each may be, and what comes of one that fails again and again. */
import { describeError, isUnavailable, isWriteConflict, StoreDataError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import type { Claim } from '#shared/projection/slice/checkpoint.ts';
import type { Slice, SliceLimits } from '#shared/projection/slice/slice.ts';
import { type Span, traced, type Tracing } from '#shared/tracing.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { Failing } from './failing.ts';

/**
 * Writes what a slice means in one transaction, and moves the claim with it. `hopeless` says that its only message failed before
 * for no fault of a server, and shall become a dead letter.
 * @throws {StoreDataError} `fenced` when the partition has another owner.
 */
export type CommitSlice = (claim: Claim, slice: Slice, hopeless: unknown) => Promise<void>;

export type Outcome = 'written' | 'failed' | 'conflict';

export interface SliceWriterOptions {
  topic: string;
  partition: number;
  /** What is projected, as metrics name it. */
  generation: string;
  limits: SliceLimits;
  commit: CommitSlice;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
}

/** Attempts on a single message that fails without a server being away, before it is a dead letter. */
const HOPELESS_ATTEMPTS = 3;
/** A longer header is of a version of the standard that does not exist. */
const TRACEPARENT_BYTES = 64;
/**
 * Events of the first slice after an assignment; each further one may have twice as many. So something is written soon, however slow
 * everything is and however often partitions are assigned anew.
 */
const FIRST_SLICE_EVENTS = 20;

export class SliceWriter {
  readonly #options: SliceWriterOptions;
  readonly #failing = new Failing();
  #events: number;
  #hopeless = { offset: -1, attempts: 0 };

  constructor(options: SliceWriterOptions) {
    this.#options = options;
    this.#events = Math.min(FIRST_SLICE_EVENTS, options.limits.events);
  }

  /** What the next slice may have. */
  limits(events: number): SliceLimits {
    return { ...this.#options.limits, events: Math.min(this.#events, events) };
  }

  /** Writes one slice. One that fails is followed by one half as long: a transaction can be too large. */
  async write(claim: Claim, slice: Slice): Promise<Outcome> {
    const { metrics, logger, topic, partition, generation, limits, commit } = this.#options;
    const { length } = slice.messages;
    const first = Number(slice.messages[0]?.offset);
    if (this.#hopeless.offset !== first) this.#hopeless = { offset: first, attempts: 0 };
    const isHopeless = length === 1 && this.#hopeless.attempts >= HOPELESS_ATTEMPTS;
    const end = metrics.transactionSeconds.startTimer({ topic, generation });
    const failed = (kind: string) => metrics.transactionFailures.inc({ topic, generation, kind });
    try {
      const hopeless = isHopeless ? this.#hopeless : null;
      await traced(this.#beginSpan(slice), () => commit(claim, slice, hopeless));
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
      if (length === 1 && !unavailable) this.#hopeless.attempts += 1;
      this.#events = Math.max(1, Math.floor(length / 2));
      return isWriteConflict(error) ? 'conflict' : 'failed';
    } finally {
      end();
    }
  }

  #beginSpan({ topic, partition, messages }: Slice): Span | undefined {
    const { tracing, generation } = this.#options;
    if (tracing === null) return undefined;
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
