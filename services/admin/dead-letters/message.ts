/** From a dead letter back to the message that it was. */
import type { KafkaMessage } from 'kafkajs';
import type { Binary } from 'mongodb';
import type { DeadLetter } from '#shared/read-models/collections.ts';

/** Whether a part of the value was not kept, so that nothing can be done with the letter. */
export function isCut({ value_bytes, kept }: { value_bytes: number; kept: number }): boolean {
  return kept < value_bytes;
}

/** The message as the projector reads it. */
export function toMessage(letter: DeadLetter): KafkaMessage {
  const headers: Record<string, Buffer[]> = {};
  for (const { name, value } of letter.headers) {
    const values = headers[name] ?? [];
    headers[name] = [...values, toBuffer(value)];
  }
  return {
    key: letter.key === null ? null : toBuffer(letter.key),
    value: letter.value === null ? null : toBuffer(letter.value),
    headers,
    offset: String(letter.offset),
    timestamp: String(letter.published_at.getTime()),
    attributes: 0,
  };
}

/** The bytes of a stored binary. */
export function toBuffer(binary: Binary): Buffer {
  return Buffer.from(binary.value());
}
