/**
 * How much room dead letters have: so that a flood of poison cannot fill the database. Each topic may have so many
 * letters and keep so many bytes of messages. Beyond the bytes only the place and the reason of a message are kept,
 * beyond the number one letter for each partition and reason stands for all further ones. Kafka has the messages.
 *
 * The limits are soft: they are compared with a count that is at most a second old and what this process added since.
 */
import type { Collection } from 'mongodb';
import type { DeadLetter } from '../../read-models/collections.ts';
import { NOTHING_KEPT } from './letter.ts';

export interface LetterLimits {
  letters: number;
  bytes: number;
}

/** What lies in a letter box. */
export interface LetterCensus {
  letters: number;
  bytes: number;
  /** When the one died that has been waiting longest. */
  oldest: Date | null;
}

const CENSUS_MS = 1_000;

/** Counts a topic's letters, by an index alone. */
export async function takeCensus(collection: Collection<DeadLetter>, topic: string): Promise<LetterCensus> {
  const [row] = await collection
    .aggregate<LetterCensus>(
      [
        { $match: { topic } },
        { $project: { _id: 0, dead_at: 1, kept_bytes: 1 } },
        {
          $group: {
            _id: null,
            letters: { $sum: 1 },
            bytes: { $sum: '$kept_bytes' },
            oldest: { $min: '$dead_at' },
          },
        },
      ],
      { hint: 'by_age' },
    )
    .toArray();
  return row ?? { letters: 0, bytes: 0, oldest: null };
}

export interface Admitted {
  /** To be written each, some without their message. */
  single: DeadLetter[];
  /** For which there is no room. */
  gathered: DeadLetter[];
}

/** The room of one topic's letters in one database. */
export class LetterRoom {
  readonly #collection: Collection<DeadLetter>;
  readonly #topic: string;
  readonly #limits: LetterLimits;
  #letters = 0;
  #bytes = 0;
  #countedAt = -Infinity;

  constructor(collection: Collection<DeadLetter>, topic: string, limits: LetterLimits) {
    this.#collection = collection;
    this.#topic = topic;
    this.#limits = limits;
  }

  /** Says what there is room for, and counts it as if it were written. */
  async admit(letters: readonly DeadLetter[]): Promise<Admitted> {
    await this.#count();
    const admitted: Admitted = { single: [], gathered: [] };
    for (const letter of letters) {
      if (this.#letters >= this.#limits.letters) {
        admitted.gathered.push(letter);
        continue;
      }
      this.#letters += 1;
      if (this.#bytes + letter.kept_bytes > this.#limits.bytes) {
        admitted.single.push({ ...letter, ...NOTHING_KEPT });
      } else {
        this.#bytes += letter.kept_bytes;
        admitted.single.push(letter);
      }
    }
    return admitted;
  }

  async #count(): Promise<void> {
    const now = performance.now();
    if (now - this.#countedAt < CENSUS_MS) return;
    const { letters, bytes } = await takeCensus(this.#collection, this.#topic);
    this.#letters = letters;
    this.#bytes = bytes;
    this.#countedAt = now;
  }
}
