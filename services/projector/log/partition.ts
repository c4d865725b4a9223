/** Makes the loops of a topic's partitions, each with its log, checkpoint, permits and metrics. */
import type { Db } from 'mongodb';
import { askKafka, type Consumer } from '#shared/kafka/client.ts';
import { type LogBounds, readLogBounds } from '#shared/kafka/positions.ts';
import type { Logger } from '#shared/logging.ts';
import { skippedTo } from '#shared/projection/dead-letters/decisions.ts';
import { giveUpSlice, type LetterLimits } from '#shared/projection/dead-letters/write.ts';
import { type Claim, claimCheckpoint, whereIs, type Slice } from '#shared/projection/slice/checkpoint.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { traced, type Tracing } from '#shared/tracing.ts';
import { systemClock } from '#shared/waiting.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { Parts } from '../parts.ts';
import type { CommitSlice, PartitionReport, Prepare } from './edges.ts';
import { PartitionLoop } from './loop.ts';
import type { Permits } from './scheduler.ts';

/** A topic that is applied into a database. */
export interface Target {
  environment: string;
  topic: string;
  groupId: string;
  /** It also holds the checkpoints and the dead letters. */
  db: Db;
  /** The label in metrics: `g3`, or `control`. */
  generation: string;
  /** What an operator does when the checkpoints were made from another log. */
  recoveryHint: string;
  logger: Logger;
  permits: () => Permits;
  /** Throws if the database of the checkpoints was dropped or replaced: a claim must not create it again. */
  checkDatabase: () => Promise<void>;
  prepare: Prepare;
  /** As in `PartitionStore`. */
  givesUp: boolean;
  /** Applies a slice in one transaction. @returns the dead letters. */
  apply: (claim: Claim, slice: Slice, limits: LetterLimits) => Promise<readonly DeadLetter[]>;
}

/** @param moved called when a position may have moved. */
export function loopFactory(
  { config, kafkas, control, metrics, tracing }: Parts,
  target: Target,
  limits: LetterLimits,
  consumer: Consumer,
  moved: () => void,
): (partition: number) => PartitionLoop {
  const { environment, topic, db, generation, recoveryHint, logger, permits, checkDatabase, prepare, apply } = target;
  const counted = (write: (claim: Claim, slice: Slice) => Promise<readonly DeadLetter[]>): CommitSlice =>
    tracedCommit(tracing, generation, async (claim, slice) => {
      const dead = await write(claim, slice);
      for (const { reason } of dead) metrics.deadLetters.inc({ environment, generation, topic, reason });
    });
  const commit = counted((claim, slice) => apply(claim, slice, limits));
  const giveUp = counted((claim, slice) => giveUpSlice(claim, slice, db));
  /** Partitions that start together share one request. */
  let asking: Promise<LogBounds> | null = null;
  return (partition) => {
    const selection = [{ topic, partitions: [partition] }];
    return new PartitionLoop({
      topic,
      partition,
      limits: { events: config.projector.sliceEvents, bytes: config.projector.sliceBytes },
      fencedPauseMs: Math.ceil(config.kafka.sessionTimeoutMs / 2),
      recoveryHint,
      clock: systemClock,
      random: Math.random,
      logger: logger.child({ topic, partition }),
      log: {
        bounds: async () => {
          asking ??= askKafka(kafkas.of(topic), (admin) => readLogBounds(admin, topic)).finally(() => (asking = null));
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
          await checkDatabase();
          return claimCheckpoint(db, topic, partition, former);
        },
        whereIs,
        commit,
        giveUp,
        givesUp: target.givesUp,
        skippedTo: (batch) => skippedTo(control, topic, partition, batch),
      },
      permits: permits(),
      report: reportTo(metrics, { topic, partition, generation }, moved),
      prepare,
    });
  };
}

export function reportTo(
  metrics: ProjectorMetrics,
  labels: Record<'topic' | 'generation', string> & { partition: number },
  moved: () => void,
): PartitionReport {
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
      if (isEnded) return;
      clear();
      if (!isStopped) return;
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

function tracedCommit(tracing: Tracing | null, generation: string, commit: CommitSlice): CommitSlice {
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
      traceparents: [...new Set(messages.flatMap(({ headers }) => headers?.['traceparent']?.toString() ?? []))],
    });
    return traced(span ?? undefined, () => commit(claim, slice));
  };
}
