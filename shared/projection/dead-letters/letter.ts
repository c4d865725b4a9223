/** What a dead letter keeps of a message that could not be applied. */
import type { KafkaMessage } from 'kafkajs';
import { Binary } from 'mongodb';
import { MAX_MESSAGE_BYTES } from '../../events/cloud-event.ts';
import type { EventRejected } from '../../events/rejection.ts';
import { type UnreadableBatch, unreadableBatch } from '../../kafka/unreadable.ts';
import type { DeadLetter } from '../../read-models/collections.ts';
import { customersIn } from './loose-event.ts';

/** Key and headers are kept up to this size each, as a guard against a message that is all header. */
const MAX_HEADER_BYTES = 65_536;
/** What a document needs for each header, however little that says. */
const BYTES_OF_A_HEADER = 48;

/** The dead letter of one message: its bytes, where it lies, and why. */
export function toDeadLetter(
  topic: string,
  partition: number,
  message: KafkaMessage,
  rejection: EventRejected,
): DeadLetter {
  const unreadable = unreadableBatch(message);
  if (unreadable !== undefined) return letterOfBatch(topic, partition, unreadable, rejection);
  const key = kept(message.key, MAX_HEADER_BYTES);
  const value = kept(message.value, MAX_MESSAGE_BYTES);
  const headers = keptHeaders(message.headers);
  const customers = customersIn(message);
  const isCut =
    headers.cut ||
    (key?.length() ?? 0) < (message.key?.length ?? 0) ||
    (value?.length() ?? 0) < (message.value?.length ?? 0);
  return {
    _id: `${topic}/${partition}/${message.offset}`,
    topic,
    partition,
    offset: Number(message.offset),
    reason: rejection.reason,
    detail: rejection.detail,
    key,
    headers: headers.kept,
    value,
    value_bytes: message.value?.length ?? 0,
    kept_bytes: (key?.length() ?? 0) + headers.bytes + (value?.length() ?? 0),
    ...(isCut ? { cut: true } : {}),
    ...(customers.length > 0 ? { customers } : {}),
    published_at: new Date(Number(message.timestamp)),
    dead_at: new Date(),
  };
}

/** The letter of a batch that cannot be read stands for all of its offsets; Kafka has its bytes. */
function letterOfBatch(
  topic: string,
  partition: number,
  { from, to }: UnreadableBatch,
  { reason, detail }: EventRejected,
): DeadLetter {
  const last = to ?? from;
  const now = new Date();
  return {
    _id: `${topic}/${partition}/${from}`,
    topic,
    partition,
    offset: from,
    reason,
    detail,
    ...NOTHING_KEPT,
    value_bytes: 0,
    gathered: { count: last - from + 1, last_offset: last },
    published_at: now,
    dead_at: now,
  };
}

/** What is left of a letter whose message is not kept: where it lies, and why it died. */
export const NOTHING_KEPT = {
  key: null,
  headers: [],
  value: null,
  kept_bytes: 0,
  cut: true,
} as const satisfies Partial<DeadLetter>;

function kept(bytes: Buffer | null, limit: number): Binary | null {
  return bytes === null ? null : new Binary(bytes.subarray(0, limit));
}

function keptHeaders(headers: KafkaMessage['headers']) {
  const kept: DeadLetter['headers'] = [];
  let bytes = 0;
  let taken = 0;
  let cut = false;
  for (const [name, values] of Object.entries(headers ?? {})) {
    for (const value of [values ?? []].flat()) {
      const buffer = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      const size = Buffer.byteLength(name) + buffer.length;
      if (taken + size + BYTES_OF_A_HEADER > MAX_HEADER_BYTES) {
        cut = true;
        continue;
      }
      taken += size + BYTES_OF_A_HEADER;
      bytes += size;
      kept.push({ name, value: new Binary(buffer) });
    }
  }
  return { kept, bytes, cut };
}
