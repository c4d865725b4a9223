/**
 * A consumer of one topic whose positions are checkpoints in MongoDB. kafkajs brings the batches and the
 * group; everything that makes effects exactly-once is ours (see `partition.ts` and `checkpoint.ts`).
 */
import type { Admin, Consumer, Kafka } from 'kafkajs';
import type { ClientSession, Collection, Db, MongoClient } from 'mongodb';
import { describeError, isUnavailable, isUnknownMember, StoreDataError } from '#shared/errors.ts';
import { unreadableBatch } from '#shared/kafka/unreadable.ts';
import { rebalanceMs } from '#shared/kafka.ts';
import type { Logger } from '#shared/logging.ts';
import { RepeatedLines } from '#shared/repeated-lines.ts';
import type { Turn, Turns } from '../generations/pace.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import {
  advanceCheckpoint,
  type Checkpoint,
  type Claim,
  claimCheckpoint,
  identityOf,
  whereIs,
} from '#shared/projection/slice/checkpoint.ts';
import { assigners } from './assigner.ts';
import { watchClock } from './clock.ts';
import { Partition, type Prepare } from './partition.ts';
import { Semaphore } from './semaphore.ts';
import { skippedTo } from '#shared/projection/slice/skips.ts';
import type { Slice, SliceLimits } from '#shared/projection/slice/slice.ts';
import { runInTransaction } from '#shared/projection/slice/transaction.ts';
import { withTimeLimit } from '#shared/time-limit.ts';

export interface ConsumerOptions<R> {
  kafka: Kafka;
  topic: string;
  groupId: string;
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
  /** Writes what a slice means, in the transaction of the claim's session. */
  write: (claim: Claim, slice: Slice, hopeless: unknown) => Promise<R>;
  /** As of a partition's target; nothing is prepared where it is absent. */
  prepare?: Prepare;
  /** Called with what `write` answered, once it is committed. Must not throw. */
  committed: (result: R, slice: Slice) => void;
}

export interface RunningConsumer {
  /** Rejects when the consumer cannot go on and the process should end. */
  failed: Promise<never>;
  /** Whether something has happened within the last two minutes, an idle fetch included. */
  isLive: () => boolean;
  /** The partitions that are ours. */
  partitions: () => number[];
  /** Runs a transaction between two slices of a partition, in its session; `null` where the partition is not ours. */
  between: <R extends object>(
    partition: number,
    work: (session: ClientSession) => Promise<R>,
  ) => Promise<R | null>;
  stop: () => Promise<void>;
}

/** How long partitions that a topic was given may go unnoticed; kafkajs would take five minutes. */
const METADATA_MAX_AGE_MS = 10_000;

/**
 * Of each partition at once: a slice or so. What is fetched lies in memory until it is applied, so that of many partitions each
 * brings less.
 */
const FETCH_BYTES = { most: 1_400_000, least: 100_000, together: 12_000_000 };
/**
 * Of all partitions: more than they bring. A broker fills an answer in the order in which kafkajs asks, always the same one: with a
 * tighter bound the last partitions would come only once the first have nothing left.
 */
const FETCH_BYTES_IN_ALL = 256 * 1_048_576;
/** So many partitions hand over their batches at once; how many are applied side by side is another matter. */
const TAKEN_AT_ONCE = 64;

/** How long a partition that is assigned to us again waits for its former slice. */
const LONGEST_ENDING_MS = 1_000;

/** How long a partition to which nothing comes may go without a look at its log and its checkpoint. */
const LOOK_MS = 10_000;

/** Within this time the group is told how far partitions are: all of them at once, and not with every slice. */
const COMMIT_MS = 250;

/** After this time a consumer that kafkajs gave up joins again. */
const RESTART_MS = 1_000;

/** After so long without an answer Kafka counts as away. */
const SILENT_MS = 30_000;

/** Joins the group and begins to apply. Resolves once the consumer runs, not when it has caught up. */
export async function startConsumer<R>(options: ConsumerOptions<R>): Promise<RunningConsumer> {
  const { kafka, topic, groupId, logger } = options;
  const fetchBytes = await fetchBytesOf(kafka, topic);
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: assigners(() => assignment.positions()),
    sessionTimeout: options.sessionTimeoutMs,
    heartbeatInterval: heartbeatInterval(options),
    rebalanceTimeout: rebalanceMs(options),
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    maxWaitTimeInMs: 200,
    minBytes: 1,
    maxBytesPerPartition: Math.min(options.limits.bytes, fetchBytes),
    maxBytes: FETCH_BYTES_IN_ALL,
    readUncommitted: false,
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 2_000,
      retries: 8,
      restartOnFailure: () => Promise.resolve(true),
    },
  });
  const assignment = new Assignment(options, consumer);
  let restarting: NodeJS.Timeout | undefined;
  const connection = new Connection(options);
  const repeated = new RepeatedLines();
  let lastActivity = Date.now();
  const { FETCH_START, FETCH, GROUP_JOIN, CRASH, STOP } = consumer.events;
  const active = () => {
    lastActivity = Date.now();
  };
  consumer.on(FETCH_START, active);
  consumer.on(FETCH, () => {
    active();
    connection.answered();
  });
  // kafkajs calls this before it fetches for the new assignment: pausing must happen here, at once.
  consumer.on(GROUP_JOIN, ({ payload }) => {
    active();
    connection.answered();
    const partitions = payload.memberAssignment[topic] ?? [];
    const { kept } = assignment.take(partitions);
    assignment.showNoOther(partitions);
    options.metrics.assignments.inc({ topic, generation: options.generation });
    logger.info({ topic, partitions, kept, joinMs: payload.duration }, 'partitions are assigned');
  });
  consumer.on(STOP, () => assignment.take([]));
  const run = () =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: TAKEN_AT_ONCE,
      eachBatch: async (payload) => {
        active();
        assignment.requireMember();
        await assignment.partition(payload.batch.partition)?.takeBatch(payload);
      },
    });
  let endWatching = () => {};
  const failed = new Promise<never>((_resolve, reject) => {
    endWatching = watchClock(options.sessionTimeoutMs / 2, (byMs) =>
      reject(new StoreDataError('clock_set_back', `the clock was set back by ${byMs} ms: start again`)),
    );
    consumer.on(CRASH, ({ payload: { error, restart } }) => {
      active();
      connection.failed();
      const description = describeError(error);
      if (!restart && !isUnavailable(error)) return reject(error);
      if (repeated.say(description) !== null) logger.warn({ topic, error: description }, 'consumer restarts');
      // kafkajs gives up where no broker names the group's coordinator.
      if (!restart) restarting = setTimeout(() => void run().catch(reject), RESTART_MS);
    });
  });
  failed.catch(() => undefined);
  const looking = setInterval(() => {
    assignment.look();
    connection.look();
  }, LOOK_MS);
  looking.unref();

  const stop = async () => {
    clearTimeout(restarting);
    endWatching();
    clearInterval(looking);
    await assignment.stop();
    await consumer.disconnect();
    assignment.take([]);
    assignment.showNoOther([]);
    connection.end();
  };
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await run();
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return {
    failed,
    isLive: () => Date.now() - lastActivity < 120_000,
    partitions: () => assignment.numbers(),
    between: async (partition, work) => assignment.between(partition, work),
    stop,
  };
}

/** How much of each partition one fetch brings; a topic's partitions may all be ours. */
async function fetchBytesOf(kafka: Kafka, topic: string): Promise<number> {
  const { topics } = await ask(kafka, (admin) => admin.fetchTopicMetadata({ topics: [topic] }));
  const partitions = topics[0]?.partitions.length ?? 1;
  const { least, most, together } = FETCH_BYTES;
  return Math.max(least, Math.min(most, Math.floor(together / partitions)));
}

/** Start and end of every partition's log. */
async function boundsOf(kafka: Kafka, topic: string): Promise<Map<number, { start: number; end: number }>> {
  const offsets = await ask(kafka, (admin) => admin.fetchTopicOffsets(topic));
  return new Map(
    offsets.map(({ partition, low, high }) => [partition, { start: Number(low), end: Number(high) }]),
  );
}

/**
 * Asks on a connection made for it. One that was kept may be dead without anybody's knowledge, and whoever asks on it waits in vain
 * for as long as a broker may take.
 */
async function ask<T>(kafka: Kafka, question: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    void admin.disconnect().catch(() => undefined);
  }
}

/** What the metrics say of a consumer's way to Kafka. */
class Connection {
  readonly #metrics: ProjectorMetrics;
  readonly #labels: { topic: string; generation: string };
  #answeredAt = performance.now();

  constructor({
    metrics,
    topic,
    generation,
  }: Pick<ConsumerOptions<unknown>, 'metrics' | 'topic' | 'generation'>) {
    this.#metrics = metrics;
    this.#labels = { topic, generation };
    metrics.kafkaConnected.set(this.#labels, 0);
  }

  answered(): void {
    this.#answeredAt = performance.now();
    this.#metrics.kafkaConnected.set(this.#labels, 1);
    this.#metrics.fetched.set(this.#labels, Date.now() / 1_000);
  }

  failed(): void {
    this.#metrics.kafkaConnected.set(this.#labels, 0);
  }

  /** A fetch without messages is answered at once, so that silence says something. */
  look(): void {
    if (performance.now() - this.#answeredAt > SILENT_MS) this.failed();
  }

  end(): void {
    this.#metrics.kafkaConnected.remove(this.#labels);
    this.#metrics.fetched.remove(this.#labels);
  }
}

/** The partitions of the present assignment. */
class Assignment<R> {
  readonly #options: ConsumerOptions<R>;
  readonly #consumer: Consumer;
  readonly #semaphore: Semaphore;
  #partitions = new Map<number, Partition>();
  /** Those whose lag the metrics show. While Kafka is away nothing is assigned, and the last lag known is shown still. */
  #shown = new Set<number>();
  #stopping = false;
  #unknownMember: Error | null = null;
  /** Until the offsets are committed. */
  #committing: NodeJS.Timeout | null = null;

  constructor(options: ConsumerOptions<R>, consumer: Consumer) {
    this.#options = options;
    this.#consumer = consumer;
    this.#semaphore = new Semaphore(options.concurrentPartitions);
  }

  partition(number: number): Partition | undefined {
    return this.#partitions.get(number);
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

  /** Tells the group in a moment how far partitions are, for tools that show lag; positions come from checkpoints alone. */
  #commitSoon(): void {
    this.#committing ??= setTimeout(() => this.#commitOffsets(), COMMIT_MS).unref();
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
    const { topic, client, checkpoints, control, limits, metrics, generation, wayOut, turns } = this.#options;
    const logger = this.#options.logger.child({ topic, partition: number });
    const name = `${generation}/${topic}/${number}`;
    const isCurrent = () => this.#partitions.get(number) === created;
    const created: Partition = new Partition({
      topic,
      partition: number,
      limits,
      fencedPauseMs: Math.ceil(this.#options.sessionTimeoutMs / 2),
      logger,
      metrics,
      generation,
      wayOut,
      source: {
        bounds: async () => {
          const bounds = (await this.#bounds()).get(number);
          if (bounds === undefined) throw new Error(`no offsets of ${topic}/${number}`);
          return bounds;
        },
        skippedTo: (batch) => skippedTo(control, topic, number, batch),
        pause: () => {
          if (isCurrent()) this.#consumer.pause([{ topic, partitions: [number] }]);
        },
        resume: () => {
          if (isCurrent()) this.#consumer.resume([{ topic, partitions: [number] }]);
        },
        fetchFrom: (offset) => {
          if (isCurrent()) this.#consumer.seek({ topic, partition: number, offset: String(offset) });
        },
        resumeAt: (offset) => {
          if (!isCurrent()) return;
          this.#consumer.seek({ topic, partition: number, offset: String(offset) });
          this.#consumer.resume([{ topic, partitions: [number] }]);
          this.#commitSoon();
        },
        batchEnded: () => this.#commitSoon(),
      },
      target: {
        claim: async (former) => {
          await this.#options.checkDatabase?.();
          return claimCheckpoint(client, checkpoints, topic, number, former);
        },
        whereIs: (claim) => whereIs(checkpoints, claim),
        commit: (claim, slice, hopeless) => this.#commitSlice(claim, slice, hopeless),
        prepare: this.#options.prepare ?? (() => () => undefined),
      },
      turns: {
        isStopping: () => this.#stopping,
        next: (isLost) => this.#nextTurn(name, isLost),
        noteLag: (lag) => turns.noteLag(name, lag),
      },
    });
    return created;
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

  async #commitSlice(claim: Claim, slice: Slice, hopeless: unknown): Promise<void> {
    const { checkpoints, write, committed } = this.#options;
    // A batch that cannot be read proves nothing about the log.
    const newest = slice.messages.findLast((message) => unreadableBatch(message) === undefined);
    const last = newest === undefined ? claim.lastMessage : identityOf(newest);
    const result = await runInTransaction(claim.session, async () => {
      if ((await advanceCheckpoint(checkpoints, claim, slice.next, last)) === 'fenced') return 'fenced';
      return { written: await write(claim, slice, hopeless) };
    });
    claim.position = slice.next;
    claim.lastMessage = last;
    committed(result.written, slice);
  }

  /** Start and end of every partition's log, asked once for all partitions that load together. */
  #bounds(): Promise<Map<number, { start: number; end: number }>> {
    this.#asking ??= boundsOf(this.#options.kafka, this.#options.topic).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }
  #asking: Promise<Map<number, { start: number; end: number }>> | null = null;
}

/** Four heartbeats fit into the time after which the group believes a member dead. */
function heartbeatInterval({ sessionTimeoutMs }: { sessionTimeoutMs: number }): number {
  return Math.floor(sessionTimeoutMs / 4);
}
