/** What the metrics and the traces say of one partition. */
import type { Slice } from '#shared/projection/slice/slice.ts';
import { type Span, traced, type Tracing } from '#shared/tracing.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import type { CommitSlice, PartitionReport } from './edges.ts';

interface Labels {
  topic: string;
  partition: number;
  /** What is projected, as metrics name it. */
  generation: string;
}

/** @param moved told when the position may have moved. */
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
    moved,
    lag: (messages) => {
      if (!isEnded) metrics.lag.set(labels, messages);
      progress();
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

/** Commits each slice in a span of its own, where slices are traced. */
export function tracedCommit(commit: CommitSlice, tracing: Tracing | null, generation: string): CommitSlice {
  if (tracing === null) return commit;
  return (claim, slice) => traced(beginSpan(tracing, slice, generation), () => commit(claim, slice));
}

function beginSpan(tracing: Tracing, { topic, partition, messages }: Slice, generation: string) {
  if (messages.length === 0) return undefined;
  const span: Span | null = tracing.begin({
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
  return span ?? undefined;
}

/** The traces that the messages of a slice come from, each once. */
function traceparentsOf(messages: Slice['messages']): string[] {
  const found = new Set<string>();
  for (const { headers } of messages) {
    const header = headers?.['traceparent'];
    if (Buffer.isBuffer(header) && header.length <= TRACEPARENT_BYTES) found.add(header.toString('latin1'));
  }
  return [...found];
}
