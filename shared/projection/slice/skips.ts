/**
 * Record batches that an operator had passed by, since they cannot be read. The decision lies in the control database: it holds for
 * every generation, those that are filled later included.
 */
import type { Collection, Db } from 'mongodb';
import type { UnreadableBatch } from '../../kafka/unreadable.ts';

export interface SkippedBatch {
  /** `<topic>/<partition>/<first offset>` */
  _id: string;
  topic: string;
  partition: number;
  /** Offsets, the last included. */
  from: number;
  to: number;
  /** By which the batch is known again: another log's batch at the same offset is another one. */
  digest: string;
  reason: string;
  detail: string;
  skipped_at: Date;
}

export function skippedBatchesIn(control: Db): Collection<SkippedBatch> {
  return control.collection('skipped_batches');
}

/** The decision to pass a batch by. */
export function decisionToSkip(
  topic: string,
  partition: number,
  { from, digest, reason, detail }: UnreadableBatch,
  to: number,
): SkippedBatch {
  const _id = `${topic}/${partition}/${from}`;
  return { _id, topic, partition, from, to, digest, reason, detail, skipped_at: new Date() };
}

/** The last offset that is passed by with a batch; `null` where nobody decided so. */
export async function skippedTo(
  control: Db,
  topic: string,
  partition: number,
  { from, digest }: UnreadableBatch,
): Promise<number | null> {
  const decision = await skippedBatchesIn(control).findOne(
    { _id: `${topic}/${partition}/${from}`, digest },
    { maxTimeMS: 5_000 },
  );
  return decision?.to ?? null;
}
