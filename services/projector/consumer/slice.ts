/** Slices: the parts of a fetched batch that are applied in one transaction each. */
import type { KafkaMessage } from 'kafkajs';

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
 * `limits.bytes` of values unless the first alone is larger.
 */
export function sliceLength(messages: readonly KafkaMessage[], start: number, limits: SliceLimits): number {
  let bytes = 0;
  let length = 0;
  while (start + length < messages.length && length < limits.events) {
    bytes += messages[start + length]?.value?.length ?? 0;
    if (length > 0 && bytes > limits.bytes) break;
    length += 1;
  }
  return length;
}
