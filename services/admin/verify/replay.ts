/**
 * Replays a part of the log into a database of its own, with the projector's own code: what the read models should be. What
 * was passed by because it has a dead letter, or an operator dropped it, is passed by here too.
 */
import type { KafkaMessage } from 'kafkajs';
import type { ClientSession, Db } from 'mongodb';
import type { FindErased } from '#shared/access/erased-stores.ts';
import { applyChanges } from '#shared/projection/changes/apply.ts';
import { Epochs } from '#shared/projection/changes/epochs.ts';
import { droppedLettersIn } from '#shared/projection/dead-letters/dropped.ts';
import { sliceLength } from '#shared/projection/slice/slice.ts';
import { createReadModels, DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import type { LogReader } from '../log/reader.ts';
import type { Positions } from '../rebuild/installation.ts';
import { inTransaction } from '../transaction.ts';

const LIMITS = { events: 500, bytes: 4_194_304 };

export interface ReplayOptions {
  /** The database of its own. */
  db: Db;
  reader: LogReader;
  findErased: FindErased;
  topic: string;
  /** Only this store; `null` for all. */
  only: string | null;
  progress: (read: number) => void;
}

/** Where a message lies, as `<partition>/<offset>`. */
type Place = string;

export class Replay {
  /** Stores whose events lie in several partitions: which were applied first the log does not say. */
  readonly spread = new Set<string>();
  readonly #options: ReplayOptions;
  readonly #epochs = new Epochs();
  readonly #partitions = new Map<string, number>();
  /** Those that were passed by so far. */
  readonly #passed = new Map<Place, { partition: number; message: KafkaMessage }>();
  #read = 0;

  private constructor(options: ReplayOptions) {
    this.#options = options;
  }

  static async begin(options: ReplayOptions): Promise<Replay> {
    await createReadModels(options.db);
    return new Replay(options);
  }

  /** Applies what lies between some positions. @param dead what is passed by. */
  async apply(from: Positions, to: Positions, dead: ReadonlySet<Place>): Promise<void> {
    const { reader, only, progress } = this.#options;
    for (const [partition, end] of to) {
      await reader.read({ partition, from: from.get(partition) ?? 0, to: end }, async (messages) => {
        const wanted = messages.filter((message) => {
          const store = message.key?.toString('utf8') ?? '';
          if (only !== null && store !== only) return false;
          if ((this.#partitions.get(store) ?? partition) !== partition) this.spread.add(store);
          this.#partitions.set(store, partition);
          const place = `${partition}/${message.offset}`;
          if (dead.has(place)) this.#passed.set(place, { partition, message });
          return !dead.has(place);
        });
        await this.#applyAll(partition, wanted);
        progress((this.#read += messages.length));
      });
    }
  }

  /** Applies what was passed by and is dead no longer: it was retried meanwhile. */
  async applyRetried(dead: ReadonlySet<Place>): Promise<void> {
    for (const [place, { partition, message }] of this.#passed) {
      if (!dead.has(place)) await this.#applyAll(partition, [message]);
    }
  }

  async #applyAll(partition: number, messages: readonly KafkaMessage[]): Promise<void> {
    for (let start = 0; start < messages.length;) {
      const length = sliceLength(messages, start, LIMITS);
      await this.#applySlice(partition, messages.slice(start, start + length));
      start += length;
    }
  }

  async #applySlice(partition: number, messages: readonly KafkaMessage[]): Promise<void> {
    const { db, topic, findErased } = this.#options;
    const slice = { topic, partition, messages, next: 0 };
    try {
      const { given } = await inTransaction(db.client, (session) =>
        applyChanges(db, session, slice, null, { epochs: this.#epochs, findErased }),
      );
      this.#epochs.committed(given);
    } catch (error) {
      if (messages.length === 1) throw error;
      // A transaction can be too large.
      const middle = Math.ceil(messages.length / 2);
      await this.#applySlice(partition, messages.slice(0, middle));
      await this.#applySlice(partition, messages.slice(middle));
    }
  }
}

/** Where messages lie that were passed by: those with a letter of their own, and those that an operator dropped. */
export async function deadPlaces(
  db: Db,
  control: Db,
  topic: string,
  session?: ClientSession,
): Promise<Set<Place>> {
  const options = { batchSize: 10_000, ...(session === undefined ? {} : { session }) };
  const letters = await db
    .collection<DeadLetter>(DEAD_LETTERS)
    .find({ topic, gathered: { $exists: false } }, { ...options, projection: { partition: 1, offset: 1 } })
    .toArray();
  // After the letters: who drops one notes that first. They may lie on another server, where the session means nothing.
  const dropped = await droppedLettersIn(control)
    .find({ topic, reason: null }, { batchSize: 10_000, projection: { partition: 1, from: 1 } })
    .toArray();
  return new Set([
    ...letters.map(({ partition, offset }) => `${partition}/${offset}`),
    ...dropped.map(({ partition, from }) => `${partition}/${from}`),
  ]);
}
