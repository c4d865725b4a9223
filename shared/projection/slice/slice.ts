/** Slices: the parts of a fetched batch that are applied in one transaction each. */
import type { KafkaMessage } from 'kafkajs';
import { unreadableBatch } from '../../kafka/unreadable.ts';

export interface Slice {
  topic: string;
  partition: number;
  messages: readonly KafkaMessage[];
  /** The position after it. */
  next: number;
}

export interface SliceLimits {
  events: number;
  bytes: number;
}

/**
 * How many messages from `start` on fit into one slice: at most `limits.events`, and at most
 * `limits.bytes` of values unless the first alone is larger. What stands for a batch that cannot be read is alone.
 */
export function sliceLength(messages: readonly KafkaMessage[], start: number, limits: SliceLimits): number {
  let bytes = 0;
  let length = 0;
  while (length < limits.events) {
    const message = messages[start + length];
    if (message === undefined) break;
    bytes += message.value?.length ?? 0;
    const isUnreadable = unreadableBatch(message) !== undefined;
    if (length > 0 && (bytes > limits.bytes || isUnreadable)) break;
    length += 1;
    if (isUnreadable) break;
  }
  return length;
}
