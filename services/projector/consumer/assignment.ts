/** The partitions of a consumer's present assignment: what comes of each when the next one differs, and what all of them share. */
import type { Admin, Consumer, Kafka } from 'kafkajs';
import type { ClientSession, Collection, Db, MongoClient } from 'mongodb';
import { describeError, isUnknownMember } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import {
  type Checkpoint,
  claimCheckpoint,
  readCheckpoints,
  whereIs,
} from '#shared/projection/slice/checkpoint.ts';
import { skippedTo } from '#shared/projection/slice/skips.ts';
import type { SliceLimits } from '#shared/projection/slice/slice.ts';
import { runInTransaction } from '#shared/projection/slice/transaction.ts';
import type { Tracing } from '#shared/tracing.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import type { Turn, Turns } from '../generations/pace.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { LogBounds } from './history.ts';
import { Partition, type Prepare } from './partition.ts';
import { Semaphore } from './semaphore.ts';
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
  wayOut: string;
  turns: Turns;
  logger: Logger;
  metrics: ProjectorMetrics;
  tracing: Tracing | null;
  commit: CommitSlice;
  /** As of a partition; nothing is prepared where it is absent. */
  prepare?: Prepare;
}

/** How long a partition that is assigned to us again waits for its former slice. */
const LONGEST_ENDING_MS = 1_000;

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
  #bounds: Promise<Map<number, LogBounds>> | null = null;
  /** The checkpoints that are asked for in this turn. */
  #reading: { ids: string[]; found: Promise<Map<string, Checkpoint>> } | null = null;

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

  /** As `RunningConsumer.between`. */
  async between<T extends object>(
    number: number,
    work: (session: ClientSession) => Promise<T>,
  ): Promise<T | null> {
    const partition = this.#partitions.get(number);
    if (partition === undefined) return null;
    return partition.between((session) => runInTransaction(session, () => work(session)));
  }

  /** Nothing waits for its turn any longer; resolves when the slices that are under way have come to their end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#partitions.values().map((partition) => partition.settled()));
    if (this.#committing === null) return;
    clearTimeout(this.#committing);
    this.#commitOffsets();
  }

  /** Looks whether the logs and checkpoints are still what they were, where nothing is under way. */
  look(): void {
    for (const partition of this.#partitions.values()) void partition.look();
  }

  /**
   * Replaces the assignment: what is ours again goes on, what no longer is is lost, and what is new is paused until it is loaded.
   * @returns which partitions go on.
   */
  take(numbers: readonly number[]): { kept: number[] } {
    const former = this.#partitions;
    const kept = new Map<number, Partition>();
    for (const [number, partition] of former) {
      if (numbers.includes(number) && partition.keep()) kept.set(number, partition);
      else partition.lose();
    }
    this.#partitions = new Map(numbers.map((number) => [number, kept.get(number) ?? this.#create(number)]));
    this.#unknownMember = null;
    for (const [number, partition] of this.#partitions) {
      if (kept.has(number)) void this.#replaceIfClaimed(number, partition);
      else void this.#load(number, partition, former.get(number));
    }
    return { kept: [...kept.keys()] };
  }

  /** A partition that was kept may have been somebody else's meanwhile: then it is taken anew. */
  async #replaceIfClaimed(number: number, partition: Partition): Promise<void> {
    if (!(await partition.isClaimedByOther()) || this.#partitions.get(number) !== partition) return;
    partition.lose();
    const anew = this.#create(number);
    this.#partitions.set(number, anew);
    await this.#load(number, anew, partition);
  }

  /** The lag of partitions that others have now is theirs to show. */
  showNoOther(numbers: readonly number[]): void {
    const { metrics, topic, generation } = this.#options;
    const shown = new Set(numbers);
    for (const partition of this.#shown.difference(shown)) {
      metrics.lag.remove({ topic, partition, generation });
      metrics.progress.remove({ topic, partition, generation });
    }
    this.#shown = shown;
  }

  /** Whoever claims a partition ends what is under way for it: what we do ourselves may come to its end before. */
  async #load(number: number, partition: Partition, former: Partition | undefined): Promise<void> {
    this.#consumer.pause([{ topic: this.#options.topic, partitions: [number] }]);
    if (former !== undefined) {
      const late = () => new Error('it is under way');
      await withTimeLimit(LONGEST_ENDING_MS, late, () => former.settled()).catch(() => undefined);
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
    const { topic, client, checkpoints, control, generation, turns, checkDatabase } = this.#options;
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
        whereIs: async (claim) => whereIs(await this.#checkpointOf(claim.id), claim),
      },
      turns: {
        isStopping: () => this.#stopping,
        next: (isLost) => this.#nextTurn(name, isLost),
        noteLag: (lag) => turns.noteLag(name, lag),
        // For tools that show lag: positions come from checkpoints alone.
        moved: () => {
          this.#committing ??= setTimeout(() => this.#commitOffsets(), COMMIT_MS).unref();
        },
      },
    });
  }

  /** A turn among the generations, and one of the places that this consumer has. */
  async #nextTurn(partition: string, isLost: () => boolean): Promise<Turn> {
    const leave = await this.#semaphore.acquire();
    const turn = await this.#options.turns.next(partition, () => this.#stopping || isLost());
    return {
      events: turn.events,
      end: () => {
        turn.end();
        leave();
      },
    };
  }

  /** Partitions that ask in the same turn of the event loop are told by one read, which begins after all of them have asked. */
  async #checkpointOf(id: string): Promise<Checkpoint | undefined> {
    if (this.#reading === null) {
      const ids: string[] = [];
      const found = Promise.resolve().then(() => {
        this.#reading = null;
        return readCheckpoints(this.#options.checkpoints, ids);
      });
      this.#reading = { ids, found };
    }
    this.#reading.ids.push(id);
    return (await this.#reading.found).get(id);
  }

  async #boundsOf(number: number): Promise<LogBounds> {
    const { kafka, topic } = this.#options;
    this.#bounds ??= askKafka(kafka, (admin) => admin.fetchTopicOffsets(topic))
      .then(
        (offsets) =>
          new Map(
            offsets.map(({ partition, low, high }) => [partition, { start: Number(low), end: Number(high) }]),
          ),
      )
      .finally(() => {
        this.#bounds = null;
      });
    const bounds = (await this.#bounds).get(number);
    if (bounds === undefined) throw new Error(`no offsets of ${topic}/${number}`);
    return bounds;
  }
}

/**
 * Asks on a connection made for it. One that was kept may be dead without anybody's knowledge, and whoever asks on it waits in vain
 * for as long as a broker may take.
 */
export async function askKafka<T>(kafka: Kafka, question: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    void admin.disconnect().catch(() => undefined);
  }
}
