/** The partitions of a consumer's present assignment: what comes of each when the next one differs, and what all of them share. */
import type { ClientSession, Collection, Db, MongoClient } from 'mongodb';
import { systemClock } from '#shared/waiting.ts';
import { askKafka, type Consumer, type EachBatchPayload, type Kafka } from '#shared/kafka/client.ts';
import { type LogBounds, type PartitionBounds, readLogBounds } from '#shared/kafka/positions.ts';
import { describeError, isUnknownMember } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { type Checkpoint, claimCheckpoint, whereIs } from '#shared/projection/slice/checkpoint.ts';
import { skippedTo } from '#shared/projection/dead-letters/decisions.ts';
import { runInTransaction, type SliceLimits } from '#shared/projection/slice/slice.ts';
import type { Tracing } from '#shared/tracing.ts';
import { Semaphore, type Permit, type Permits } from './scheduler.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { CommitSlice } from './edges.ts';
import { PartitionLoop, type Prepare } from './loop.ts';
import { reportTo, tracedCommit } from './report.ts';

export interface AssignmentOptions {
  kafka: Kafka;
  topic: string;
  sessionTimeoutMs: number;
  concurrentPartitions: number;
  limits: SliceLimits;
  client: MongoClient;
  checkpoints: Collection<Checkpoint>;
  /** Where operators' decisions lie. */
  control: Db;
  /** Throws where the database that holds the checkpoints is no longer what it was: it must not be made anew by a claim. */
  checkDatabase?: () => Promise<void>;
  /** What is projected, as metrics name it: `g3`, or `control`. */
  generation: string;
  /** What to do when the log is another than the checkpoints were made from. */
  recoveryHint: string;
  permits: Permits;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
  commit: CommitSlice;
  giveUp: CommitSlice;
  prepare?: Prepare;
}

/** How long a partition that is assigned to us again waits for its former slice. */
const MAX_ENDING_MS = 1_000;

/** Within this time the group is told how far partitions are: all of them at once, and not with every slice. */
const COMMIT_MS = 250;

interface Running {
  loop: PartitionLoop;
  /** Resolves when nothing is under way any longer. */
  ended: Promise<void>;
}

export class Assignment {
  readonly #options: AssignmentOptions;
  readonly #consumer: Consumer;
  readonly #semaphore: Semaphore;
  #running = new Map<number, Running>();
  /** Those whose lag the metrics show. While Kafka is away nothing is assigned, and the last lag known is shown still. */
  #shown = new Set<number>();
  #isStopping = false;
  #unknownMember: Error | null = null;
  /** Until the offsets are committed. */
  #committing: NodeJS.Timeout | null = null;
  /** Asked once for all partitions that begin together. */
  #bounds: Promise<LogBounds> | null = null;

  constructor(options: AssignmentOptions, consumer: Consumer) {
    this.#options = options;
    this.#consumer = consumer;
    this.#semaphore = new Semaphore(options.concurrentPartitions);
  }

  /** Takes a batch of kafkajs, which fetches on when it resolves. @throws where the group does not know us any longer. */
  async takeBatch({ batch, isStale }: EachBatchPayload): Promise<void> {
    // kafkajs asks only heartbeats whether we are still a member, and one that waits on a dead connection keeps back all others.
    if (this.#unknownMember !== null) throw this.#unknownMember;
    if (!isStale()) await this.#running.get(batch.partition)?.loop.take(batch);
  }

  /** Whether nothing is under way for any partition. */
  isIdle(): boolean {
    return !this.#isStopping && this.#running.values().every(({ loop }) => loop.isIdle);
  }

  /** How far each partition is applied; -1 where that is not known yet. */
  positions(): Map<number, number> {
    return new Map(this.#running.entries().map(([number, { loop }]) => [number, loop.position ?? -1]));
  }

  /** As `RunningConsumer.partitions`. */
  numbers(): number[] {
    return [...this.#running.keys()];
  }

  /** As `RunningConsumer.runBetweenSlices`. */
  async runBetweenSlices<T extends object>(
    number: number,
    work: (session: ClientSession) => Promise<T>,
  ): Promise<T | null> {
    const running = this.#running.get(number);
    if (running === undefined) return null;
    return running.loop.runBetweenSlices((session) => runInTransaction(session, () => work(session)));
  }

  /** No slice is begun any longer; resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { loop } of this.#running.values()) loop.stop();
    await Promise.all(this.#running.values().map(({ ended }) => ended));
    if (this.#committing === null) return;
    clearTimeout(this.#committing);
    this.#commitOffsets();
  }

  /**
   * Replaces the assignment: partitions that stay ours are retained, others revoked, and new ones begun.
   * @returns those retained.
   */
  assign(numbers: readonly number[]): { kept: number[] } {
    const former = this.#running;
    this.#running = new Map();
    this.#unknownMember = null;
    const kept: number[] = [];
    for (const [number, { loop }] of former) {
      if (numbers.includes(number) && loop.retain()) kept.push(number);
      else loop.revoke();
    }
    for (const number of numbers) {
      const running = former.get(number);
      if (running === undefined || !kept.includes(number)) this.#begin(number, running);
      else {
        this.#running.set(number, running);
        void this.#replaceIfClaimed(number, running);
      }
    }
    return { kept };
  }

  /** A partition that was retained may have been claimed by another projector meanwhile: then it is claimed anew. */
  async #replaceIfClaimed(number: number, running: Running): Promise<void> {
    if (!(await running.loop.isClaimedByOther()) || this.#running.get(number) !== running) return;
    running.loop.revoke();
    this.#begin(number, running);
  }

  /** The lag of partitions that others have now is theirs to show. */
  showOnly(numbers: readonly number[]): void {
    const { metrics, topic, generation } = this.#options;
    const shown = new Set(numbers);
    for (const partition of this.#shown.difference(shown)) {
      metrics.lag.remove({ topic, partition, generation });
      metrics.progress.remove({ topic, partition, generation });
    }
    this.#shown = shown;
  }

  /** Begins a loop. Claiming kills the previous owner's transaction: if that owner is us, it may end before (1 s). */
  #begin(number: number, former: Running | undefined): void {
    const loop = this.#createLoop(number);
    const run = async () => {
      if (former !== undefined) {
        const ended = new AbortController();
        void former.ended.then(() => ended.abort());
        await systemClock.sleep(MAX_ENDING_MS, ended.signal);
      }
      await loop.run();
    };
    this.#running.set(number, { loop, ended: run() });
  }

  #commitOffsets(): void {
    this.#committing = null;
    const { topic, logger } = this.#options;
    const running = this.#running;
    const offsets = [...running].flatMap(
      ([
        partition,
        {
          loop: { isFollowing, position },
        },
      ]) => (isFollowing && position !== null ? { topic, partition, offset: String(position) } : []),
    );
    if (offsets.length === 0) return;
    this.#consumer.commitOffsets(offsets).catch((error: unknown) => {
      logger.debug({ error: describeError(error) }, 'offsets not committed');
      if (isUnknownMember(error) && this.#running === running) this.#unknownMember = error;
    });
  }

  #createLoop(number: number): PartitionLoop {
    const {
      topic,
      generation,
      permits,
      metrics,
      tracing,
      logger,
      client,
      checkpoints,
      control,
      checkDatabase,
    } = this.#options;
    const consumer = this.#consumer;
    const name = `${generation}/${topic}/${number}`;
    const selection = [{ topic, partitions: [number] }];
    return new PartitionLoop({
      ...this.#options,
      partition: number,
      fencedPauseMs: Math.ceil(this.#options.sessionTimeoutMs / 2),
      clock: systemClock,
      logger: logger.child({ topic, partition: number }),
      log: {
        bounds: () => this.#boundsOf(number),
        seek: (offset) => consumer.seek({ topic, partition: number, offset: String(offset) }),
        pause: () => consumer.pause(selection),
        resume: () => consumer.resume(selection),
      },
      store: {
        claim: async (former) => {
          await checkDatabase?.();
          return claimCheckpoint(client, checkpoints, topic, number, former);
        },
        whereIs: (claim) => whereIs(checkpoints, claim),
        commit: tracedCommit(this.#options.commit, tracing, generation),
        giveUp: tracedCommit(this.#options.giveUp, tracing, generation),
        skippedTo: (batch) => skippedTo(control, topic, number, batch),
      },
      permits: {
        next: (stopped) => this.#nextPermit(name, stopped),
        noteLag: (lag) => permits.noteLag(name, lag),
      },
      // For tools that show lag: positions come from checkpoints alone.
      report: reportTo(metrics, { topic, partition: number, generation }, () => {
        this.#committing ??= setTimeout(() => this.#commitOffsets(), COMMIT_MS).unref();
      }),
    });
  }

  /** A permit of the process's scheduler, and one of this consumer's concurrent partitions. */
  async #nextPermit(partition: string, stopped: AbortSignal): Promise<Permit> {
    const leave = await this.#semaphore.acquire();
    const permit = await this.#options.permits.next(partition, stopped);
    return {
      events: permit.events,
      end: () => {
        permit.end();
        leave();
      },
    };
  }

  async #boundsOf(number: number): Promise<PartitionBounds> {
    const { kafka, topic } = this.#options;
    this.#bounds ??= askKafka(kafka, (admin) => readLogBounds(admin, topic)).finally(() => {
      this.#bounds = null;
    });
    const bounds = (await this.#bounds).get(number);
    if (bounds === undefined) throw new Error(`no offsets of ${topic}/${number}`);
    return bounds;
  }
}
