/**
 * Consumes one topic. kafkajs fetches batches and joins the group; positions are checkpoints in MongoDB, which make effects exactly-once
 * (`loop.ts`, `checkpoint.ts`).
 */
import { describeError, isUnavailable, isUnknownMember, StoreDataError } from '#shared/errors.ts';
import { askKafka, type Consumer, finalError, type Kafka, rebalanceMs, watchClock } from '#shared/kafka/client.ts';
import { setFetchMaxWait } from '#shared/kafka/fetch.ts';
import { assigners } from '#shared/kafka/sticky-assigner.ts';
import { type Logger, RepeatedLines } from '#shared/logging.ts';
import { systemClock } from '#shared/waiting.ts';
import { startLetters } from '../dead-letters.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { Parts } from '../parts.ts';
import { Assignment } from './assignment.ts';
import { loopFactory, type Target } from './partition.ts';

export interface RunningConsumer extends Pick<Assignment, 'partitions' | 'runBetweenSlices'> {
  /** Rejects when the consumer cannot continue: the process should end. */
  failed: Promise<never>;
  /** Whether something has happened within the last two minutes, an idle fetch included. */
  isLive: () => boolean;
  stop: () => Promise<void>;
}

/** How soon new partitions of a topic are noticed; kafkajs would take five minutes. */
const METADATA_MAX_AGE_MS = 10_000;
/** Bytes of one fetch for each partition: about a slice, and less for each of many. What is fetched stays in memory until it is applied. */
const FETCH_BYTES = { most: 1_400_000, least: 100_000, together: 12_000_000 };
/** For all partitions: more than they bring. A broker serves them in a fixed order, so a tighter bound would starve the last ones. */
const FETCH_BYTES_IN_ALL = 256 * 1_048_576;
/** Partitions that may hand over a batch at the same time. The scheduler bounds how many are applied at the same time. */
const TAKEN_AT_ONCE = 64;
/** Offsets are committed for all partitions together, not with every slice. */
const COMMIT_MS = 250;
/** When kafkajs gives a consumer up, it joins again after this time. */
const RESTART_MS = 1_000;
/** How long a fetch waits for messages: while some partitions are paused, and at most while all are idle. */
const FETCH_WAIT_MS = { busy: 200, idle: 1_000 };
const LIVE_MS = 120_000;

/** Joins the group, starts to apply, and counts dead letters. Resolves once the consumer runs, not when it has caught up. */
export async function startConsumer(parts: Parts, target: Target): Promise<RunningConsumer> {
  const { topic, generation, logger } = target;
  const { sessionTimeoutMs } = parts.config.kafka;
  let isStopped = false;
  const positions = () => assignment.positions();
  const consumer = await createConsumer(parts, target, positions, () => isStopped);
  const letters = startLetters(parts, target);
  const offsets = createOffsetCommits(consumer, topic, positions, logger);
  const loops = loopFactory(parts, target, letters.limits, consumer, offsets.schedule);
  const assignment = new Assignment(loops, systemClock);
  const showOnly = trackPartitionGauges(parts.metrics, { topic, generation });
  // kafkajs sends heartbeats between fetches: a fetch must not delay them for long.
  const idleWaitMs = Math.min(FETCH_WAIT_MS.idle, Math.floor(sessionTimeoutMs / 6));
  const endWaiting = setFetchMaxWait(topic, () => (assignment.isIdle() ? idleWaitMs : 0));
  const connection = watchConnection(parts.metrics, { topic, generation });
  let lastActivity = performance.now();
  const active = () => void (lastActivity = performance.now());
  const answered = () => {
    active();
    connection.answered();
  };
  const { FETCH_START, FETCH, GROUP_JOIN, STOP } = consumer.events;
  consumer.on(FETCH_START, active);
  consumer.on(FETCH, answered);
  // kafkajs calls this before it fetches for the new assignment: pausing must happen here, at once.
  consumer.on(GROUP_JOIN, ({ payload }) => {
    // It was stopped while joining: only an error ends that.
    if (isStopped) throw finalError('the consumer is stopped');
    answered();
    offsets.joined();
    const partitions = payload.memberAssignment[topic] ?? [];
    const kept = assignment.assign(partitions);
    showOnly(partitions);
    parts.metrics.assignments.inc({ topic, generation });
    logger.info({ topic, partitions, kept, joinMs: payload.duration }, 'partitions are assigned');
  });
  consumer.on(STOP, () => assignment.assign([]));
  const run = () =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: TAKEN_AT_ONCE,
      eachBatch: async ({ batch, isStale }) => {
        active();
        // kafkajs notices only by a heartbeat that we are no longer a member, and one on a dead connection blocks all others.
        offsets.checkMembership();
        if (!isStale()) await assignment.take(batch.partition, batch);
      },
    });
  const crashed = () => {
    active();
    connection.failed();
  };
  const crashes = watchCrashes(consumer, target, sessionTimeoutMs, { crashed, run });
  const stop = async () => {
    isStopped = true;
    crashes.stop();
    endWaiting();
    try {
      await assignment.stop();
      offsets.flush();
      await consumer.disconnect();
    } finally {
      assignment.assign([]);
      showOnly([]);
      connection.end();
      await letters.stop();
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
    failed: crashes.failed,
    isLive: () => performance.now() - lastActivity < LIVE_MS,
    partitions: () => assignment.partitions(),
    runBetweenSlices: (partition, work) => assignment.runBetweenSlices(partition, work),
    stop,
  };
}

async function createConsumer(
  { kafkas, config }: Parts,
  { topic, groupId }: Target,
  positions: Assignment['positions'],
  isStopped: () => boolean,
): Promise<Consumer> {
  const kafka = kafkas.of(topic);
  const { sessionTimeoutMs } = config.kafka;
  return kafka.consumer({
    groupId,
    partitionAssigners: assigners(positions),
    sessionTimeout: sessionTimeoutMs,
    // Four fit into the session timeout.
    heartbeatInterval: Math.floor(sessionTimeoutMs / 4),
    rebalanceTimeout: rebalanceMs(config.kafka),
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS.busy,
    minBytes: 1,
    maxBytesPerPartition: Math.min(config.projector.sliceBytes, await fetchBytesOf(kafka, topic)),
    maxBytes: FETCH_BYTES_IN_ALL,
    readUncommitted: false,
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 2_000,
      retries: 8,
      restartOnFailure: () => Promise.resolve(!isStopped()),
    },
  });
}

/**
 * Commits offsets for tools that show lag: the projector itself reads only checkpoints. A refused commit is the first to show that the
 * group no longer knows this member.
 */
function createOffsetCommits(consumer: Consumer, topic: string, positions: Assignment['positions'], logger: Logger) {
  let scheduled: NodeJS.Timeout | undefined;
  /** Why the group no longer knows us since we last joined. */
  let membership: { lost: Error | null } = { lost: null };
  const commit = () => {
    scheduled = undefined;
    const applied = [...positions()].filter(([, position]) => position >= 0);
    const offsets = applied.map(([partition, offset]) => ({ topic, partition, offset: String(offset) }));
    const joined = membership;
    if (offsets.length === 0) return;
    consumer.commitOffsets(offsets).catch((error: unknown) => {
      logger.debug({ error: describeError(error) }, 'offsets not committed');
      if (isUnknownMember(error)) joined.lost = error;
    });
  };
  return {
    schedule: () => void (scheduled ??= setTimeout(commit, COMMIT_MS).unref()),
    /** Commits now what is scheduled. */
    flush() {
      if (scheduled === undefined) return;
      clearTimeout(scheduled);
      commit();
    },
    joined() {
      membership = { lost: null };
    },
    checkMembership() {
      if (membership.lost !== null) throw membership.lost;
    },
  };
}

/** Removes the metrics of partitions that others own now. While Kafka is away nothing is assigned, and the last lag stays. */
function trackPartitionGauges(metrics: ProjectorMetrics, labels: Record<'topic' | 'generation', string>) {
  let shown = new Set<number>();
  return (partitions: readonly number[]) => {
    const now = new Set(partitions);
    for (const partition of shown.difference(now)) {
      for (const gauge of [metrics.lag, metrics.progress]) gauge.remove({ ...labels, partition });
    }
    shown = now;
  };
}

/** Runs a consumer again that kafkajs gave up. `failed` rejects after an error that no restart helps against. */
function watchCrashes(
  consumer: Consumer,
  { topic, logger }: Pick<Target, 'topic' | 'logger'>,
  sessionTimeoutMs: number,
  { crashed, run }: { crashed: () => void; run: () => Promise<void> },
) {
  let isStopped = false;
  let restarting: NodeJS.Timeout | undefined;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const endWatching = watchClock(sessionTimeoutMs / 2, (byMs) =>
    reject(new StoreDataError('clock_set_back', `the clock was set back by ${byMs} ms: start again`)),
  );
  const repeated = new RepeatedLines();
  consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
    if (isStopped) return;
    crashed();
    const description = describeError(error);
    if (!restart && !isUnavailable(error)) return reject(error);
    if (repeated.say(description) !== null) logger.warn({ topic, error: description }, 'consumer restarts');
    // kafkajs gives up when no broker names the group's coordinator.
    if (!restart) restarting = setTimeout(() => void run().catch(reject), RESTART_MS);
  });
  return {
    failed,
    stop() {
      isStopped = true;
      clearTimeout(restarting);
      endWatching();
    },
  };
}

/** Bytes of one fetch for each partition: all partitions of a topic may be ours. */
async function fetchBytesOf(kafka: Kafka, topic: string): Promise<number> {
  const { topics } = await askKafka(kafka, (admin) => admin.fetchTopicMetadata({ topics: [topic] }));
  const partitions = topics[0]?.partitions.length ?? 1;
  const { least, most, together } = FETCH_BYTES;
  return Math.max(least, Math.min(most, Math.floor(together / partitions)));
}

const CHECK_MS = 10_000;
/** After this time without an answer Kafka counts as away. */
const SILENT_MS = 30_000;

/** Shows by metrics whether Kafka answers a consumer. Empty fetches are answered too, so silence means that Kafka is away. */
function watchConnection(metrics: ProjectorMetrics, labels: { topic: string; generation: string }) {
  let answeredAt = performance.now();
  const show = (isConnected: boolean) => metrics.kafkaConnected.set(labels, isConnected ? 1 : 0);
  show(false);
  const checking = setInterval(() => {
    if (performance.now() - answeredAt > SILENT_MS) show(false);
  }, CHECK_MS).unref();
  return {
    answered: () => {
      answeredAt = performance.now();
      show(true);
      metrics.fetched.set(labels, Date.now() / 1_000);
    },
    failed: () => show(false),
    end: () => {
      clearInterval(checking);
      metrics.kafkaConnected.remove(labels);
      metrics.fetched.remove(labels);
    },
  };
}
