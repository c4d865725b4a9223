/** Decoding: what the messages of a slice say, each checked by itself, whether or not it was read ahead. */
import type { KafkaMessage } from 'kafkajs';
import { EventRejected } from '../../events/rejection.ts';
import type { ProjectedChange } from './projected-change.ts';
import { takeChange } from './read-ahead.ts';

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
export function decode(messages: readonly KafkaMessage[]): { entries: Entry[]; rejected: Rejected[] } {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  for (const [at, message] of messages.entries()) {
    try {
      entries.push({ change: takeChange(message), at });
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      rejected.push({ at, rejection: error });
    }
  }
  return { entries, rejected };
}
