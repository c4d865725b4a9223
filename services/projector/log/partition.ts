/** Makes the loops of a consumer's partitions: gives each its log, its checkpoint, its permits and its metrics. */
import type { Collection, Db, MongoClient } from 'mongodb';
import type { Config } from '#shared/config.ts';
import { askKafka, type Consumer, type Kafka } from '#shared/kafka/client.ts';
import { type LogBounds, readLogBounds } from '#shared/kafka/positions.ts';
import type { Logger } from '#shared/logging.ts';
import { skippedTo } from '#shared/projection/dead-letters/decisions.ts';
import { type Checkpoint, claimCheckpoint, whereIs } from '#shared/projection/slice/checkpoint.ts';
import type { Slice } from '#shared/projection/slice/slice.ts';
import { traced, type Tracing } from '#shared/tracing.ts';
import { systemClock } from '#shared/waiting.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { CommitSlice, PartitionReport, Prepare } from './edges.ts';
import { PartitionLoop } from './loop.ts';
import { type Permits, Semaphore } from './scheduler.ts';

export interface PartitionOptions {
  kafka: Kafka;
  topic: string;
  config: { kafka: Pick<Config['kafka'], 'sessionTimeoutMs'>; projector: SliceSettings };
  client: MongoClient;
  checkpoints: Collection<Checkpoint>;
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

type SliceSettings = Pick<Config['projector'], 'concurrentPartitions' | 'sliceEvents' | 'sliceBytes'>;

/** @param moved told when a position may have moved. */
export function loopFactory(
  options: PartitionOptions,
  consumer: Consumer,
  moved: () => void,
): (partition: number) => PartitionLoop {
  const { kafka, topic, config, client, checkpoints, control, checkDatabase, generation } = options;
  const { permits, metrics, logger } = options;
  const { concurrentPartitions, sliceEvents: events, sliceBytes: bytes } = config.projector;
  const concurrent = new Semaphore(concurrentPartitions);
  /** Asked once for all partitions that begin together. */
  let asking: Promise<LogBounds> | null = null;
  return (partition) => {
    const name = `${generation}/${topic}/${partition}`;
    const selection = [{ topic, partitions: [partition] }];
    return new PartitionLoop({
      topic,
      partition,
      limits: { events, bytes },
      fencedPauseMs: Math.ceil(config.kafka.sessionTimeoutMs / 2),
      recoveryHint: options.recoveryHint,
      clock: systemClock,
      logger: logger.child({ topic, partition }),
      log: {
        bounds: async () => {
          asking ??= askKafka(kafka, (admin) => readLogBounds(admin, topic)).finally(() => (asking = null));
          const bounds = (await asking).get(partition);
          if (bounds === undefined) throw new Error(`no offsets of ${topic}/${partition}`);
          return bounds;
        },
        seek: (offset) => consumer.seek({ topic, partition, offset: String(offset) }),
        pause: () => consumer.pause(selection),
        resume: () => consumer.resume(selection),
      },
      store: {
        claim: async (former) => {
          await checkDatabase?.();
          return claimCheckpoint(client, checkpoints, topic, partition, former);
        },
        whereIs: (claim) => whereIs(checkpoints, claim),
        commit: tracedCommit(options.commit, options),
        giveUp: tracedCommit(options.giveUp, options),
        skippedTo: (batch) => skippedTo(control, topic, partition, batch),
      },
      permits: {
        next: async (stopped) => {
          const leave = await concurrent.acquire();
          const { events: most, end } = await permits.next(name, stopped);
          return { events: most, end: () => (end(), leave()) };
        },
        noteLag: (lag) => permits.noteLag(name, lag),
      },
      report: reportTo(metrics, { topic, partition, generation }, moved),
      ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
    });
  };
}

interface Labels {
  topic: string;
  partition: number;
  generation: string;
}

export function reportTo(metrics: ProjectorMetrics, labels: Labels, moved: () => void): PartitionReport {
  const { topic, generation } = labels;
  let unreadable: { reason: string } | null = null;
  let isEnded = false;
  const progress = () => {
    if (!isEnded) metrics.progress.set(labels, Date.now() / 1_000);
  };
  const clear = () => {
    if (unreadable !== null) metrics.unreadable.remove({ ...labels, ...unreadable });
    unreadable = null;
    metrics.stopped.remove(labels);
  };
  return {
    progress,
    lag: (messages) => {
      if (!isEnded) metrics.lag.set(labels, messages);
      progress();
      moved();
    },
    stopped: (isStopped, reason) => {
      clear();
      if (isEnded || !isStopped) return;
      metrics.stopped.set(labels, 1);
      if (reason === undefined) return;
      unreadable = { reason };
      metrics.unreadable.set({ ...labels, reason }, 1);
    },
    failing: (times) => {
      if (times === 0) metrics.failing.remove(labels);
      else if (!isEnded) metrics.failing.set(labels, times);
    },
    transaction: (milliseconds, kind) => {
      metrics.transactionSeconds.observe({ topic, generation }, milliseconds / 1_000);
      if (kind !== null) metrics.transactionFailures.inc({ topic, generation, kind });
    },
    end: () => {
      isEnded = true;
      clear();
      metrics.failing.remove(labels);
    },
  };
}

/** A longer header is of a version of the standard that does not exist. */
const TRACEPARENT_BYTES = 64;

function tracedCommit(
  commit: CommitSlice,
  { tracing, generation }: Pick<PartitionOptions, 'tracing' | 'generation'>,
): CommitSlice {
  if (tracing === null) return commit;
  return (claim, slice) => {
    const { topic, partition, messages } = slice;
    if (messages.length === 0) return commit(claim, slice);
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
    return traced(span ?? undefined, () => commit(claim, slice));
  };
}

function traceparentsOf(messages: Slice['messages']): string[] {
  const found = new Set<string>();
  for (const { headers } of messages) {
    const header = headers?.['traceparent'];
    if (Buffer.isBuffer(header) && header.length <= TRACEPARENT_BYTES) found.add(header.toString('latin1'));
  }
  return [...found];
}
