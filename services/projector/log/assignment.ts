/** The partitions of a consumer's present assignment: what comes of each when the next one differs, and what all of them share. */
import type { ClientSession, Collection, Db, MongoClient } from 'mongodb';
import { askKafka, type Consumer, type Kafka } from '#shared/kafka/client.ts';
import { type LogBounds, type PartitionBounds, readLogBounds } from '#shared/kafka/positions.ts';
import { describeError, isUnknownMember } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { type Checkpoint, claimCheckpoint, whereIs } from '#shared/projection/slice/checkpoint.ts';
import { skippedTo } from '#shared/projection/dead-letters/decisions.ts';
import { runInTransaction, type SliceLimits } from '#shared/projection/slice/slice.ts';
import type { Tracing } from '#shared/tracing.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import { Semaphore, type Permit, type Permits } from './scheduler.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { Partition, type Prepare } from './partition.ts';
import type { CommitSlice } from './slice-writer.ts';

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
  /** As of a partition; nothing is prepared where it is absent. */
  prepare?: Prepare;
}

/** How long a partition that is assigned to us again waits for its former slice. */
const MAX_ENDING_MS = 1_000;

/** Within this time the group is told how far partitions are: all of them at once, and not with every slice. */
const COMMIT_MS = 250;

export class Assignment {
  readonly #options: AssignmentOptions;
  readonly #consumer: Consumer;
  readonly #semaphore: Semaphore;
  #partitions = new Map<number, Partition>();
  /** Those whose lag the metrics show. While Kafka is away nothing is assigned, and the last lag known is shown still. */
  #shown = new Set<number>();
  #stopping = false;
  #unknownMember: Error | null = null;
  /** Until the offsets are committed. */
  #committing: NodeJS.Timeout | null = null;
  /** Asked once for all partitions that load together. */
  #bounds: Promise<LogBounds> | null = null;

  constructor(options: AssignmentOptions, consumer: Consumer) {
    this.#options = options;
    this.#consumer = consumer;
    this.#semaphore = new Semaphore(options.concurrentPartitions);
  }

  partition(number: number): Partition | undefined {
    return this.#partitions.get(number);
  }

  /** Whether nothing is under way for any partition. */
  isIdle(): boolean {
    return !this.#stopping && this.#partitions.values().every((partition) => partition.isIdle);
  }

  /** How far each partition is applied; -1 where that is not known yet. */
  positions(): Map<number, number> {
    return new Map(
      this.#partitions.entries().map(([number, partition]) => [number, partition.position ?? -1]),
    );
  }

  /** As `RunningConsumer.partitions`. */
  numbers(): number[] {
    return [...this.#partitions.keys()];
  }

  /** As `RunningConsumer.runBetweenSlices`. */
  async runBetweenSlices<T extends object>(
    number: number,
    work: (session: ClientSession) => Promise<T>,
  ): Promise<T | null> {
    const partition = this.#partitions.get(number);
    if (partition === undefined) return null;
    return partition.runBetweenSlices((session) => runInTransaction(session, () => work(session)));
  }

  /** No slice is begun any longer; resolves when those under way have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#partitions.values().map((partition) => partition.settled()));
    if (this.#committing === null) return;
    clearTimeout(this.#committing);
    this.#commitOffsets();
  }

  /** Checks that logs and checkpoints are still what they were, where nothing is under way. */
  checkLogs(): void {
    for (const partition of this.#partitions.values()) void partition.checkLog();
  }

  /**
   * Replaces the assignment: partitions that stay ours are retained, others revoked, and new ones paused until they are loaded.
   * @returns those retained.
   */
  assign(numbers: readonly number[]): { kept: number[] } {
    const former = this.#partitions;
    const kept = new Map<number, Partition>();
    for (const [number, partition] of former) {
      if (numbers.includes(number) && partition.retain()) kept.set(number, partition);
      else partition.revoke();
    }
    this.#partitions = new Map(numbers.map((number) => [number, kept.get(number) ?? this.#create(number)]));
    this.#unknownMember = null;
    for (const [number, partition] of this.#partitions) {
      if (kept.has(number)) void this.#replaceIfClaimed(number, partition);
      else void this.#load(number, partition, former.get(number));
    }
    return { kept: [...kept.keys()] };
  }

  /** A partition that was retained may have been claimed by another projector meanwhile: then it is claimed anew. */
  async #replaceIfClaimed(number: number, partition: Partition): Promise<void> {
    if (!(await partition.isClaimedByOther()) || this.#partitions.get(number) !== partition) return;
    partition.revoke();
    const anew = this.#create(number);
    this.#partitions.set(number, anew);
    await this.#load(number, anew, partition);
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

  /** Claiming kills the previous owner's transaction. If that owner is us, let it finish first (1 s). */
  async #load(number: number, partition: Partition, former: Partition | undefined): Promise<void> {
    this.#consumer.pause([{ topic: this.#options.topic, partitions: [number] }]);
    if (former !== undefined) {
      const late = () => new Error('it is under way');
      await withTimeLimit(MAX_ENDING_MS, late, () => former.settled()).catch(() => undefined);
    }
    await partition.load();
  }

  #commitOffsets(): void {
    this.#committing = null;
    const { topic, logger } = this.#options;
    const partitions = this.#partitions;
    const offsets = [...partitions].flatMap(([partition, { state, position }]) =>
      state === 'ready' && position !== null ? { topic, partition, offset: String(position) } : [],
    );
    if (offsets.length === 0) return;
    this.#consumer.commitOffsets(offsets).catch((error: unknown) => {
      logger.debug({ error: describeError(error) }, 'offsets not committed');
      if (isUnknownMember(error) && this.#partitions === partitions) this.#unknownMember = error;
    });
  }

  /**
   * kafkajs asks only heartbeats whether we are still a member, and one that waits on a dead connection keeps back all others.
   * @throws what says that the group does not know us any longer: kafkajs joins again.
   */
  requireMember(): void {
    if (this.#unknownMember !== null) throw this.#unknownMember;
  }

  #create(number: number): Partition {
    const { topic, client, checkpoints, control, generation, permits, checkDatabase } = this.#options;
    const name = `${generation}/${topic}/${number}`;
    return new Partition({
      ...this.#options,
      partition: number,
      consumer: this.#consumer,
      fencedPauseMs: Math.ceil(this.#options.sessionTimeoutMs / 2),
      logger: this.#options.logger.child({ topic, partition: number }),
      prepare: this.#options.prepare ?? (() => () => undefined),
      store: {
        bounds: () => this.#boundsOf(number),
        skippedTo: (batch) => skippedTo(control, topic, number, batch),
        claim: async (former) => {
          await checkDatabase?.();
          return claimCheckpoint(client, checkpoints, topic, number, former);
        },
        whereIs: async (claim) => whereIs(checkpoints, claim),
      },
      permits: {
        isStopping: () => this.#stopping,
        next: (isLost) => this.#nextPermit(name, isLost),
        noteLag: (lag) => permits.noteLag(name, lag),
        // For tools that show lag: positions come from checkpoints alone.
        moved: () => {
          this.#committing ??= setTimeout(() => this.#commitOffsets(), COMMIT_MS).unref();
        },
      },
    });
  }

  /** A permit of the process's scheduler, and one of this consumer's concurrent partitions. */
  async #nextPermit(partition: string, isLost: () => boolean): Promise<Permit> {
    const leave = await this.#semaphore.acquire();
    const permit = await this.#options.permits.next(partition, () => this.#stopping || isLost());
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
