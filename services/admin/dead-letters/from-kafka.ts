/** Messages of dead letters that keep only a part of them, or nothing: Kafka has them at their offsets. */
import { StoreDataError } from '#shared/errors.ts';
import { type LogMessage, unreadableBatch } from '#shared/kafka/message.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';

/** Messages in between are read along rather than jumped over. */
const NEAR = 1_000;

/** What is not there, or cannot be read. */
const MISSING = new Set<string>(['history_lost', 'batch_unreadable']);

type Place = Pick<DeadLetter, '_id' | 'topic' | 'partition' | 'offset' | 'published_at' | 'gathered'>;

export class MessagesInKafka {
  readonly #servers: Servers;
  readonly #readers = new Map<string, Promise<LogReader>>();

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /**
   * The messages of some letters of one partition, by letter id; all those of a batch, if it can be read by now. What Kafka does not
   * have any longer, or has another message in the place of, is missing.
   * @param letters in the order of their offsets.
   * @throws {StoreDataError} `environment_unavailable`.
   */
  async of(letters: readonly Place[]): Promise<Map<string, LogMessage[]>> {
    const found = new Map<string, LogMessage[]>();
    const [first] = letters;
    if (first === undefined) return found;
    const { topic, partition } = first;
    const reader = this.#readers.get(topic) ?? LogReader.open(this.#servers, topic);
    this.#readers.set(topic, reader);
    for (const part of parts(letters)) {
      try {
        await (
          await reader
        ).read({ partition, ...part }, (messages) => {
          for (const message of messages) {
            if (unreadableBatch(message) !== undefined) continue;
            const letter = letters.find((one) => isOf(one, message));
            if (letter !== undefined) found.set(letter._id, [...(found.get(letter._id) ?? []), message]);
          }
        });
      } catch (error) {
        if (!(error instanceof StoreDataError) || !MISSING.has(error.code)) throw error;
      }
    }
    return found;
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#readers.values());
    for (const result of opened) if (result.status === 'fulfilled') await result.value.close();
  }
}

function isOf({ offset, gathered, published_at }: Place, message: LogMessage): boolean {
  const at = Number(message.offset);
  if (gathered !== undefined) return offset <= at && at <= gathered.last_offset;
  return offset === at && published_at.getTime() === Number(message.timestamp);
}

/** Parts of the log that hold the letters, near ones together. */
function parts(letters: readonly Place[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const { offset, gathered } of letters) {
    const last = found.at(-1);
    const to = (gathered?.last_offset ?? offset) + 1;
    if (last !== undefined && offset - last.to < NEAR) last.to = Math.max(last.to, to);
    else found.push({ from: offset, to });
  }
  return found;
}
