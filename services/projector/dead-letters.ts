/** Dead letters: messages that could not be applied, written in the same transaction that passes them by. */
import type { KafkaMessage } from 'kafkajs';
import { Binary, type ClientSession, type Collection } from 'mongodb';
import { MAX_MESSAGE_BYTES } from '#shared/events/cloud-event.ts';
import type { EventRejected } from '#shared/events/rejection.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';

/** Headers are kept up to this size in all, as a guard against a message that is all header. */
const MAX_HEADER_BYTES = 65_536;

/** The dead letter of one message: its bytes, where it lies, and why. */
export function toDeadLetter(
  topic: string,
  partition: number,
  message: KafkaMessage,
  rejection: EventRejected,
): DeadLetter {
  return {
    _id: `${topic}/${partition}/${message.offset}`,
    topic,
    partition,
    offset: Number(message.offset),
    reason: rejection.reason,
    detail: rejection.detail,
    key: message.key === null ? null : new Binary(message.key.subarray(0, MAX_HEADER_BYTES)),
    headers: keptHeaders(message.headers),
    value: message.value === null ? null : new Binary(message.value.subarray(0, MAX_MESSAGE_BYTES)),
    value_bytes: message.value?.length ?? 0,
    published_at: new Date(Number(message.timestamp)),
    dead_at: new Date(),
  };
}

function keptHeaders(headers: KafkaMessage['headers']): DeadLetter['headers'] {
  const kept: DeadLetter['headers'] = [];
  let bytes = 0;
  for (const [name, values] of Object.entries(headers ?? {})) {
    for (const value of [values ?? []].flat()) {
      const buffer = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      bytes += name.length + buffer.length;
      if (bytes <= MAX_HEADER_BYTES) kept.push({ name, value: new Binary(buffer) });
    }
  }
  return kept;
}

/** Writes dead letters in the session's transaction. */
export async function writeDeadLetters(
  collection: Collection<DeadLetter>,
  session: ClientSession,
  letters: DeadLetter[],
): Promise<void> {
  if (letters.length === 0) return;
  await collection.bulkWrite(
    letters.map((letter) => ({
      replaceOne: { filter: { _id: letter._id }, replacement: letter, upsert: true },
    })),
    { session, ordered: false },
  );
}
