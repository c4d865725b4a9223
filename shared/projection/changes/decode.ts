/** Decoding: what the messages of a slice say, each checked by itself. */
import type { KafkaMessage } from 'kafkajs';
import { EventRejected } from '../../events/rejection.ts';
import { ChangeReader, type ProjectedChange } from './change-reader.ts';

/** A change and its place in the slice. */
export interface Entry {
  change: ProjectedChange;
  /** Index of its message in the slice. */
  at: number;
}

/** A message that cannot take effect, and why. */
export interface Rejected {
  at: number;
  rejection: EventRejected;
}

/** Reads messages, in their order; those that are poison apart. */
export function decode(
  messages: readonly KafkaMessage[],
  reader = new ChangeReader(),
): { entries: Entry[]; rejected: Rejected[] } {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  for (const [at, message] of messages.entries()) {
    try {
      entries.push({ change: reader.read(message), at });
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      rejected.push({ at, rejection: error });
    }
  }
  return { entries, rejected };
}
