/**
 * A consumer of one topic whose positions are checkpoints in MongoDB. kafkajs brings the batches and the
 * group; everything that makes effects exactly-once is ours (see `loop.ts` and `checkpoint.ts`).
 */
import type { ClientSession } from 'mongodb';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';
import { setFetchMaxWait } from '#shared/kafka/fetch.ts';
import { assigners } from '#shared/kafka/sticky-assigner.ts';
import { askKafka, finalError, type Kafka, rebalanceMs } from '#shared/kafka/client.ts';
import { RepeatedLines } from '#shared/logging.ts';
import { Assignment, type AssignmentOptions } from './assignment.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';

export interface ConsumerOptions extends AssignmentOptions {
  groupId: string;
}

export interface RunningConsumer {
  /** Rejects when the consumer cannot go on and the process should end. */
  failed: Promise<never>;
  /** Whether something has happened within the last two minutes, an idle fetch included. */
  isLive: () => boolean;
  /** The partitions that are ours. */
  partitions: () => number[];
  /** Runs a transaction between two slices of a partition, in its session; `null` where the partition is not ours. */
  runBetweenSlices: <R extends object>(
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

const LOOK_MS = 10_000;

/** After this time a consumer that kafkajs gave up joins again. */
const RESTART_MS = 1_000;

/** How long a fetch waits for messages while a partition may become fetchable, and the longest that it does while all are idle. */
const FETCH_WAIT_MS = { busy: 200, idle: 1_000 };

/** After so long without an answer Kafka counts as away. */
const SILENT_MS = 30_000;

/** Joins the group and begins to apply. Resolves once the consumer runs, not when it has caught up. */
export async function startConsumer(options: ConsumerOptions): Promise<RunningConsumer> {
  const { kafka, topic, groupId, logger } = options;
  const fetchBytes = await fetchBytesOf(kafka, topic);
  let isStopped = false;
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: assigners(() => assignment.positions()),
    sessionTimeout: options.sessionTimeoutMs,
    heartbeatInterval: heartbeatInterval(options),
    rebalanceTimeout: rebalanceMs(options),
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS.busy,
    minBytes: 1,
    maxBytesPerPartition: Math.min(options.limits.bytes, fetchBytes),
    maxBytes: FETCH_BYTES_IN_ALL,
    readUncommitted: false,
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 2_000,
      retries: 8,
      restartOnFailure: () => Promise.resolve(!isStopped),
    },
  });
  const assignment = new Assignment(options, consumer);
  const endWaiting = setFetchMaxWait(topic, () => (assignment.isIdle() ? idleFetchWait(options) : 0));
  const connection = watchConnection(options);
  const repeated = new RepeatedLines();
  let lastActivity = Date.now();
  let restarting: NodeJS.Timeout | undefined;
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
    // It was joining when it was stopped, which only a failure ends.
    if (isStopped) throw finalError('the consumer is stopped');
    active();
    connection.answered();
    const partitions = payload.memberAssignment[topic] ?? [];
    const { kept } = assignment.assign(partitions);
    assignment.showOnly(partitions);
    options.metrics.assignments.inc({ topic, generation: options.generation });
    logger.info({ topic, partitions, kept, joinMs: payload.duration }, 'partitions are assigned');
  });
  consumer.on(STOP, () => assignment.assign([]));
  const run = () =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: TAKEN_AT_ONCE,
      eachBatch: async (payload) => {
        active();
        await assignment.takeBatch(payload);
      },
    });
  let endWatching = () => {};
  const failed = new Promise<never>((_resolve, reject) => {
    endWatching = watchClock(options.sessionTimeoutMs / 2, (byMs) =>
      reject(new StoreDataError('clock_set_back', `the clock was set back by ${byMs} ms: start again`)),
    );
    consumer.on(CRASH, ({ payload: { error, restart } }) => {
      if (isStopped) return;
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
  const stop = async () => {
    isStopped = true;
    clearTimeout(restarting);
    endWatching();
    endWaiting();
    try {
      await assignment.stop();
      await consumer.disconnect();
    } finally {
      assignment.assign([]);
      assignment.showOnly([]);
      connection.end();
    }
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
    runBetweenSlices: async (partition, work) => assignment.runBetweenSlices(partition, work),
    stop,
  };
}

/** How much of each partition one fetch brings; a topic's partitions may all be ours. */
async function fetchBytesOf(kafka: Kafka, topic: string): Promise<number> {
  const { topics } = await askKafka(kafka, (admin) => admin.fetchTopicMetadata({ topics: [topic] }));
  const partitions = topics[0]?.partitions.length ?? 1;
  const { least, most, together } = FETCH_BYTES;
  return Math.max(least, Math.min(most, Math.floor(together / partitions)));
}

/** Shows by metrics whether Kafka answers a consumer. A fetch without messages is answered at once, so that silence says something. */
function watchConnection({ metrics, topic, generation }: ConsumerOptions) {
  const labels = { topic, generation };
  let answeredAt = performance.now();
  const show = (isConnected: boolean) => metrics.kafkaConnected.set(labels, isConnected ? 1 : 0);
  const lookForSilence = () => {
    if (performance.now() - answeredAt > SILENT_MS) show(false);
  };
  show(false);
  const looking = setInterval(lookForSilence, LOOK_MS).unref();
  return {
    answered: () => {
      answeredAt = performance.now();
      show(true);
      metrics.fetched.set(labels, Date.now() / 1_000);
    },
    failed: () => show(false),
    end: () => {
      clearInterval(looking);
      metrics.kafkaConnected.remove(labels);
      metrics.fetched.remove(labels);
    },
  };
}

/** kafkajs sends heartbeats between fetches: a fetch must not delay them for long. */
function idleFetchWait({ sessionTimeoutMs }: { sessionTimeoutMs: number }): number {
  return Math.min(FETCH_WAIT_MS.idle, Math.floor(sessionTimeoutMs / 6));
}

/** Four heartbeats fit into the time after which the group believes a member dead. */
function heartbeatInterval({ sessionTimeoutMs }: { sessionTimeoutMs: number }): number {
  return Math.floor(sessionTimeoutMs / 4);
}

const MAX_LOOK_MS = 1_000;

/**
 * Notices that the wall clock was set back: kafkajs tells by it how long ago the last heartbeat was, and sends none until the clock has
 * come there again. The group would give the partitions away, and this member would never hear of it.
 * Calls `setBack` once the clock goes back by more than `toleratedMs` at once.
 * @returns what ends the watching.
 */
export function watchClock(toleratedMs: number, setBack: (byMs: number) => void): () => void {
  let ahead = Date.now() - performance.now();
  const lookMs = Math.min(toleratedMs / 3, MAX_LOOK_MS);
  const look = () => {
    const now = Date.now() - performance.now();
    if (ahead - now > toleratedMs) setBack(Math.round(ahead - now));
    ahead = now;
    return Promise.resolve();
  };
  const looking = new PeriodicTask({ run: look, everyMs: lookMs, failed: () => undefined });
  return () => void looking.stop();
}
