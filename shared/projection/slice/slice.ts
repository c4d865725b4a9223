/** Slices: the parts of a fetched batch that are applied in one transaction each. */
import type { ClientSession } from 'mongodb';
import { damagedBatch, type LogMessage } from '../../kafka/message.ts';
import { activeSpan, traced } from '../../tracing.ts';

export interface Slice {
  topic: string;
  partition: number;
  messages: readonly LogMessage[];
  next: number;
}

export interface SliceLimits {
  events: number;
  bytes: number;
}

/** How many messages from `start` on fit into one slice: at least one, however large. A damaged batch is alone. */
export function sliceLength(messages: readonly LogMessage[], start: number, limits: SliceLimits): number {
  let bytes = 0;
  let length = 0;
  while (length < limits.events) {
    const message = messages[start + length];
    if (message === undefined) break;
    bytes += message.value?.length ?? 0;
    if (length > 0 && (bytes > limits.bytes || damagedBatch(message) !== undefined)) break;
    length += 1;
  }
  return length;
}

/** Runs work in a transaction, whose read and write concerns override all others. @throws every error, after an abort. */
export async function runInTransaction<T>(session: ClientSession, work: () => Promise<T>): Promise<T> {
  return traced(activeSpan()?.child('transaction', 'internal'), () => attempt(session, work));
}

async function attempt<T>(session: ClientSession, work: () => Promise<T>): Promise<T> {
  session.startTransaction({
    readConcern: { level: 'snapshot' },
    writeConcern: { w: 'majority' },
    maxCommitTimeMS: 10_000,
  });
  try {
    const result = await work();
    await session.commitTransaction();
    return result;
  } catch (error) {
    if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
    throw error;
  }
}
