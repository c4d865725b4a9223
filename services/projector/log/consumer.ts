/**
 * Consumes one topic. The group says which partitions are ours (`membership.ts`), and each has a
 * loop that reads its log by itself (`loop.ts`, `fetcher.ts`). Positions are checkpoints in
 * MongoDB, which make effects exactly-once (`checkpoint.ts`).
 */
import { unavailable } from '#shared/errors.ts';
import { connectBrokers } from '#shared/kafka/brokers.ts';
import { rebalanceMs } from '#shared/kafka/client.ts';
import { connectTo, createCluster, type KnownBounds } from '#shared/kafka/cluster.ts';
import { createFetcher } from '#shared/kafka/fetcher.ts';
import { joinGroup } from '#shared/kafka/membership.ts';
import { type Logger, repeatedLines } from '#shared/logging.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { systemClock } from '#shared/waiting.ts';
import { startLetters } from '../dead-letters.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { Parts } from '../parts.ts';
import { type Assignment, createAssignment } from './assignment.ts';
import { loopFactory, type Target } from './partition.ts';

export interface RunningConsumer {
  assignment: Assignment;
  /** Whether something has happened within the last two minutes, an unanswered request included. */
  isLive: () => boolean;
  stop: () => Promise<void>;
}

/**
 * Bytes of one read of a partition: about a slice, and less for each of many. What is read stays in
 * memory until it is applied.
 */
const READ_BYTES = { most: 1_400_000, least: 100_000, together: 12_000_000 };
/** How often the bounds of the log are read, and new partitions noticed. */
const BOUNDS_MS = 10_000;
const LIVE_MS = 120_000;

/**
 * Joins the group, starts to apply, and counts dead letters. Resolves once the consumer runs, not
 * when it has caught up.
 */
export async function startConsumer(parts: Parts, target: Target): Promise<RunningConsumer> {
  const { topic, generation, logger } = target;
  const { config, kafka, metrics } = parts;
  const labels = { topic, generation };
  await using starting = new AsyncDisposableStack();
  const open = () => {
    const cluster = createCluster(kafka);
    starting.defer(() => cluster.disconnect().catch(() => undefined));
    return cluster;
  };
  const brokers = await connectBrokers(open(), topic, [open(), open()]);
  const letters = startLetters(parts, target);
  starting.defer(() => letters.stop());
  const connection = watchConnection(metrics, labels);
  starting.defer(() => connection.end());

  let isStopping = false;
  const failed = (error: unknown) => {
    if (!isStopping) parts.fail(error);
  };
  const fetcher = createFetcher({
    brokers,
    clock: systemClock,
    answered: connection.fetched,
    waits: logWaits(logger, topic),
  });
  /** Partitions that start together share one request. */
  let asking: Promise<KnownBounds> | null = null;
  const readBounds = async () => {
    const { bounds } = await (asking ??= brokers.bounds().finally(() => (asking = null)));
    // While nothing is fetched, as from a stopped partition, this shows that Kafka answers.
    connection.fetched();
    return bounds;
  };
  const loops = loopFactory(parts, target, {
    limits: letters.limits,
    readBytes: Math.min(config.projector.sliceBytes, readBytesOf(brokers.partitions().length)),
    confirmed: (signal) => membership.confirmed(signal),
    logOf: (partition) => ({
      bounds: async () => {
        const bounds = (await readBounds()).get(partition);
        if (bounds === undefined)
          throw unavailable(`${topic}/${partition} has no leader, or that does not answer`);
        return bounds;
      },
      read: (wanted, signal) =>
        fetcher.read(partition, wanted, signal).catch((error: unknown) => {
          failed(error);
          throw error;
        }),
    }),
  });
  const assignment = createAssignment(loops, systemClock);
  const ofGroup = open();
  await connectTo(ofGroup, topic);
  const membership = joinGroup({
    cluster: ofGroup,
    groupId: target.groupId,
    topic,
    sessionTimeoutMs: config.kafka.sessionTimeoutMs,
    rebalanceTimeoutMs: rebalanceMs(config.kafka),
    partitions: brokers.partitions,
    owned: assignment.positions,
    assigned: (partitions) => {
      assignment.assign(partitions);
      metrics.assignments.inc(labels);
    },
    answered: connection.answered,
    failed,
    logger,
  });
  const watching = startPeriodicTask({
    run: async () => assignment.noteBounds(await readBounds()),
    everyMs: BOUNDS_MS,
    failed: (error) => logger.warn({ topic, error }, 'the bounds of the log cannot be read'),
  });
  const running = starting.move();
  return {
    isLive: connection.isLive,
    assignment,
    stop: async () => {
      isStopping = true;
      try {
        await assignment.stop();
        await Promise.all([membership.stop(), watching.stop()]);
      } finally {
        await running.disposeAsync();
      }
    },
  };
}

/** Bytes of one read of a partition: all partitions of a topic may be ours. */
function readBytesOf(partitions: number): number {
  const { least, most, together } = READ_BYTES;
  return Math.max(least, Math.min(most, Math.floor(together / partitions)));
}

function logWaits(logger: Logger, topic: string) {
  const leftOutOf = repeatedLines();
  return (partition: number, error: string) => {
    const line = `${topic}/${partition} cannot be read yet: ${error}`;
    if (leftOutOf(line) !== null) logger.warn({ topic, partitions: [partition], error }, line);
  };
}

/**
 * Shows by metrics whether Kafka answers a consumer. Empty answers count too. No request is without
 * an answer or a failure for long.
 */
function watchConnection(metrics: ProjectorMetrics, labels: { topic: string; generation: string }) {
  let triedAt = 0;
  let isEnded = false;
  const answered = (isAnswered: boolean) => {
    triedAt = performance.now();
    if (!isEnded) metrics.kafkaConnected.set(labels, isAnswered ? 1 : 0);
  };
  answered(false);
  return {
    answered,
    fetched: () => {
      answered(true);
      // A request that is under way at the end is answered later.
      if (!isEnded) metrics.fetched.set(labels, Date.now() / 1_000);
    },
    isLive: () => performance.now() - triedAt < LIVE_MS,
    end: () => {
      isEnded = true;
      metrics.kafkaConnected.remove(labels);
      metrics.fetched.remove(labels);
    },
  };
}
