/** From a dead letter back to the message that it was. */
import type { KafkaMessage } from 'kafkajs';
import { Binary } from 'mongodb';
import type { DeadLetter } from '#shared/read-models/collections.ts';

/** The message as the projector reads it, as far as it is kept. */
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

/** A letter with the message that Kafka has of it. */
export function withMessage(letter: DeadLetter, { key, value, headers }: KafkaMessage): DeadLetter {
  return {
    ...letter,
    key: key === null ? null : new Binary(key),
    value: value === null ? null : new Binary(value),
    headers: Object.entries(headers ?? {}).flatMap(([name, given]) =>
      [given ?? []].flat().map((bytes) => ({ name, value: new Binary(Buffer.from(bytes)) })),
    ),
  };
}

/** The bytes of a stored binary. */
export function toBuffer(binary: Binary): Buffer {
  return Buffer.from(binary.value());
}
