/**
 * Consumes one topic. kafkajs fetches batches and joins the group; positions are checkpoints in MongoDB, which make effects exactly-once
 * (`loop.ts`, `checkpoint.ts`).
 */
import { describeError, isUnavailable, isUnknownMember, StoreDataError } from '#shared/errors.ts';
import { askKafka, finalError, type Kafka, rebalanceMs, watchClock } from '#shared/kafka/client.ts';
import { setFetchMaxWait } from '#shared/kafka/fetch.ts';
import { assigners } from '#shared/kafka/sticky-assigner.ts';
import { RepeatedLines } from '#shared/logging.ts';
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
  const { metrics, config } = parts;
  const { topic, groupId, generation, logger } = target;
  const { sessionTimeoutMs } = config.kafka;
  const kafka = parts.kafkas.of(topic);
  const fetchBytes = await fetchBytesOf(kafka, topic);
  let isStopped = false;
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: assigners(() => assignment.positions()),
    sessionTimeout: sessionTimeoutMs,
    // Four fit into the session timeout.
    heartbeatInterval: Math.floor(sessionTimeoutMs / 4),
    rebalanceTimeout: rebalanceMs(config.kafka),
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS.busy,
    minBytes: 1,
    maxBytesPerPartition: Math.min(config.projector.sliceBytes, fetchBytes),
    maxBytes: FETCH_BYTES_IN_ALL,
    readUncommitted: false,
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 2_000,
      retries: 8,
      restartOnFailure: () => Promise.resolve(!isStopped),
    },
  });

  const letters = startLetters(parts, target);
  let committing: NodeJS.Timeout | undefined;
  /** Why the group no longer knows us since we last joined. */
  let membership: { lost: Error | null } = { lost: null };
  /** For tools that show lag. The projector itself reads only checkpoints. */
  const commitOffsets = () => {
    committing = undefined;
    const applied = [...assignment.positions()].filter(([, position]) => position >= 0);
    const offsets = applied.map(([partition, offset]) => ({ topic, partition, offset: String(offset) }));
    const joined = membership;
    if (offsets.length === 0) return;
    consumer.commitOffsets(offsets).catch((error: unknown) => {
      logger.debug({ error: describeError(error) }, 'offsets not committed');
      if (isUnknownMember(error)) joined.lost = error;
    });
  };
  const moved = () => void (committing ??= setTimeout(commitOffsets, COMMIT_MS).unref());
  const assignment = new Assignment(loopFactory(parts, target, letters.limits, consumer, moved), systemClock);

  /** Removes the metrics of partitions that others own now. While Kafka is away nothing is assigned, and the last lag stays. */
  let shown = new Set<number>();
  const showOnly = (partitions: readonly number[]) => {
    const now = new Set(partitions);
    for (const partition of shown.difference(now)) {
      for (const gauge of [metrics.lag, metrics.progress]) gauge.remove({ topic, partition, generation });
    }
    shown = now;
  };

  // kafkajs sends heartbeats between fetches: a fetch must not delay them for long.
  const idleWaitMs = Math.min(FETCH_WAIT_MS.idle, Math.floor(sessionTimeoutMs / 6));
  const endWaiting = setFetchMaxWait(topic, () => (assignment.isIdle() ? idleWaitMs : 0));
  const connection = watchConnection(metrics, { topic, generation });
  const repeated = new RepeatedLines();
  let lastActivity = performance.now();
  const active = () => void (lastActivity = performance.now());
  const answered = () => {
    active();
    connection.answered();
  };
  const { FETCH_START, FETCH, GROUP_JOIN, CRASH, STOP } = consumer.events;
  consumer.on(FETCH_START, active);
  consumer.on(FETCH, answered);
  // kafkajs calls this before it fetches for the new assignment: pausing must happen here, at once.
  consumer.on(GROUP_JOIN, ({ payload }) => {
    // It was stopped while joining: only an error ends that.
    if (isStopped) throw finalError('the consumer is stopped');
    answered();
    membership = { lost: null };
    const partitions = payload.memberAssignment[topic] ?? [];
    const kept = assignment.assign(partitions);
    showOnly(partitions);
    metrics.assignments.inc({ topic, generation });
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
        if (membership.lost !== null) throw membership.lost;
        if (!isStale()) await assignment.take(batch.partition, batch);
      },
    });

  let restarting: NodeJS.Timeout | undefined;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const endWatching = watchClock(sessionTimeoutMs / 2, (byMs) =>
    reject(new StoreDataError('clock_set_back', `the clock was set back by ${byMs} ms: start again`)),
  );
  consumer.on(CRASH, ({ payload: { error, restart } }) => {
    if (isStopped) return;
    active();
    connection.failed();
    const description = describeError(error);
    if (!restart && !isUnavailable(error)) return reject(error);
    if (repeated.say(description) !== null) logger.warn({ topic, error: description }, 'consumer restarts');
    // kafkajs gives up when no broker names the group's coordinator.
    if (!restart) restarting = setTimeout(() => void run().catch(reject), RESTART_MS);
  });

  const stop = async () => {
    isStopped = true;
    clearTimeout(restarting);
    endWatching();
    endWaiting();
    try {
      await assignment.stop();
      clearTimeout(committing);
      if (committing !== undefined) commitOffsets();
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
    failed,
    isLive: () => performance.now() - lastActivity < LIVE_MS,
    partitions: () => assignment.partitions(),
    runBetweenSlices: (partition, work) => assignment.runBetweenSlices(partition, work),
    stop,
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
