/** Makes the loops of a topic's partitions, each with its log, checkpoint, permits and metrics. */
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import { skippedTo } from '#shared/projection/dead-letters/decisions.ts';
import { giveUpSlice, type LetterLimits } from '#shared/projection/dead-letters/write.ts';
import {
  type Claim,
  claimCheckpoint,
  isHere,
  type Slice,
} from '#shared/projection/slice/checkpoint.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { traced, type Tracing } from '#shared/tracing.ts';
import { systemClock } from '#shared/waiting.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { Parts } from '../parts.ts';
import type { CommitSlice, LoopOptions, PartitionLog, PartitionReport, Prepare } from './edges.ts';
import { type PartitionLoop, startLoop } from './loop.ts';
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
  /**
   * Throws if the database of the checkpoints was dropped or replaced: a claim must not create it
   * again.
   */
  checkDatabase: () => Promise<void>;
  prepare: Prepare;
  /** As in `PartitionStore`. */
  givesUp: boolean;
  /** Applies a slice in one transaction. @returns the dead letters. */
  apply: (claim: Claim, slice: Slice, limits: LetterLimits) => Promise<readonly DeadLetter[]>;
}

/** What the loops of a topic's partitions share. */
interface Shared extends Pick<LoopOptions, 'readBytes' | 'confirmed'> {
  limits: LetterLimits;
  logOf: (partition: number) => PartitionLog;
}

export function loopFactory(
  { config, control, metrics, tracing }: Parts,
  target: Target,
  { limits, logOf, ...shared }: Shared,
): (partition: number) => PartitionLoop {
  const { environment, topic, db, generation } = target;
  const counted = (
    write: (claim: Claim, slice: Slice) => Promise<readonly DeadLetter[]>,
  ): CommitSlice =>
    tracedCommit(tracing, generation, async (claim, slice) => {
      const dead = await write(claim, slice);
      for (const { reason } of dead)
        metrics.deadLetters.inc({ environment, generation, topic, reason });
    });
  const commit = counted((claim, slice) => target.apply(claim, slice, limits));
  const giveUp = counted((claim, slice) => giveUpSlice(claim, slice, db));
  return (partition) =>
    startLoop({
      ...target,
      ...shared,
      partition,
      limits: { events: config.projector.sliceEvents, bytes: config.projector.sliceBytes },
      clock: systemClock,
      random: Math.random,
      logger: target.logger.child({ topic, partition }),
      log: logOf(partition),
      store: {
        claim: async (former) => {
          await target.checkDatabase();
          return claimCheckpoint(db, topic, partition, former);
        },
        isHere,
        commit,
        giveUp,
        givesUp: target.givesUp,
        skippedTo: (batch) => skippedTo(control, topic, partition, batch),
      },
      permits: target.permits(),
      report: reportTo(metrics, { topic, partition, generation }),
    });
}

/** The metrics of a partition, for as long as it is ours. */
export function reportTo(
  metrics: ProjectorMetrics,
  labels: Record<'topic' | 'generation', string> & { partition: number },
): PartitionReport {
  const { topic, generation } = labels;
  const { lag, progress, stopped, unreadable, failing, openTransaction } = metrics;
  let damage: { reason: string } | null = null;
  let isEnded = false;
  /** Where readers of committed messages end, and since when. */
  let stable = { end: -1, since: 0 };
  const noteContinues = () => {
    if (damage !== null) unreadable.remove({ ...labels, ...damage });
    damage = null;
    stopped.remove(labels);
  };
  return {
    progress: () => {
      if (!isEnded) progress.set(labels, Date.now() / 1_000);
    },
    lag: (messages) => {
      if (!isEnded) lag.set(labels, messages);
    },
    bounds: ({ end, highWatermark }) => {
      const hidden = Math.max(0, highWatermark - end);
      const now = performance.now();
      if (hidden === 0 || stable.end !== end) stable = { end, since: now };
      openTransaction.messages.set(labels, hidden);
      openTransaction.seconds.set(labels, (now - stable.since) / 1_000);
    },
    stopped: (isStopped, reason) => {
      if (isEnded) return;
      noteContinues();
      if (!isStopped) return;
      stopped.set(labels, 1);
      if (reason === undefined) return;
      damage = { reason };
      unreadable.set({ ...labels, reason }, 1);
    },
    failing: (times) => {
      if (times === 0) failing.remove(labels);
      else if (!isEnded) failing.set(labels, times);
    },
    transaction: (milliseconds, kind) => {
      metrics.transactionSeconds.observe({ topic, generation }, milliseconds / 1_000);
      if (kind !== null) metrics.transactionFailures.inc({ topic, generation, kind });
    },
    end: () => {
      isEnded = true;
      noteContinues();
      const { messages, seconds } = openTransaction;
      for (const gauge of [lag, progress, failing, messages, seconds]) gauge.remove(labels);
    },
  };
}

function tracedCommit(
  tracing: Tracing | null,
  generation: string,
  commit: CommitSlice,
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
      traceparents: [
        ...new Set(messages.flatMap(({ headers }) => headers?.['traceparent']?.toString() ?? [])),
      ],
    });
    return traced(span ?? undefined, () => commit(claim, slice));
  };
}
