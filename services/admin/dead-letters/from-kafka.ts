/** Messages of dead letters that keep only a part of them, or nothing: Kafka has them at their offsets. */
import type { KafkaMessage } from 'kafkajs';
import { StoreDataError } from '#shared/errors.ts';
import { unreadableBatch } from '#shared/kafka/unreadable.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '../log/reader.ts';

/** Messages in between are read along rather than jumped over. */
const NEAR = 1_000;

/** What is not there, or cannot be read. */
const MISSING = new Set<string>(['history_lost', 'batch_unreadable']);

type Place = Pick<DeadLetter, '_id' | 'topic' | 'partition' | 'offset' | 'published_at'>;

export class MessagesInKafka {
  readonly #servers: Servers;
  readonly #readers = new Map<string, Promise<LogReader>>();

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** A reader of a topic, opened once. */
  reader(topic: string): Promise<LogReader> {
    const reader = this.#readers.get(topic) ?? LogReader.open(this.#servers, topic);
    this.#readers.set(topic, reader);
    return reader;
  }

  /**
   * The messages of some letters of one partition, by letter id. What Kafka does not have any longer, or has another
   * message in the place of, is missing.
   * @param letters in the order of their offsets.
   * @throws {StoreDataError} `environment_unavailable`.
   */
  async of(letters: readonly Place[]): Promise<Map<string, KafkaMessage>> {
    const found = new Map<string, KafkaMessage>();
    const [first] = letters;
    if (first === undefined) return found;
    const { topic, partition } = first;
    const reader = await this.reader(topic);
    const wanted = new Map(letters.map((letter) => [letter.offset, letter]));
    for (const { from, to } of parts(letters)) {
      try {
        await reader.read({ partition, from, to }, (messages) => {
          for (const message of messages) {
            if (unreadableBatch(message) !== undefined) continue;
            const letter = wanted.get(Number(message.offset));
            if (letter?.published_at.getTime() === Number(message.timestamp)) found.set(letter._id, message);
          }
        });
      } catch (error) {
        if (!(error instanceof StoreDataError) || !MISSING.has(error.code)) throw error;
      }
    }
    return found;
  }

  /** Leaves the groups that were joined. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#readers.values());
    for (const result of opened) if (result.status === 'fulfilled') await result.value.close();
  }
}

/** Parts of the log that hold the letters, near ones together. */
function parts(letters: readonly Place[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const { offset } of letters) {
    const last = found.at(-1);
    if (last !== undefined && offset - last.to < NEAR) last.to = offset + 1;
    else found.push({ from: offset, to: offset + 1 });
  }
  return found;
}
