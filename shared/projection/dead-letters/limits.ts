/**
 * How many bytes of messages a topic's dead letters keep: so that a flood of poison cannot fill the database. Beyond that only
 * the place and the reason of a message are kept, which is less than any event takes that is applied. Kafka has the messages.
 *
 * The limit is soft: it is compared with a count that is at most a second old, or a little more where there are very many, and
 * what this process added since.
 */
import type { Collection } from 'mongodb';
import type { DeadLetter } from '../../read-models/collections.ts';
import { NOTHING_KEPT } from './letter.ts';

export interface LetterCensus {
  letters: number;
  bytes: number;
  /** When the one died that has been waiting longest. */
  oldest: Date | null;
}

const CENSUS_MS = 1_000;
/** Counting takes a twentieth of the time at most, however many letters there are. */
export const CENSUS_SHARE = 20;

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

/** The limits of one topic's letters in one database. */
export class LetterLimits {
  readonly #collection: Collection<DeadLetter>;
  readonly #topic: string;
  readonly #limit: number;
  #bytes = 0;
  #countAt = -Infinity;

  /** @param limit of bytes. */
  constructor(collection: Collection<DeadLetter>, topic: string, limit: number) {
    this.#collection = collection;
    this.#topic = topic;
    this.#limit = limit;
  }

  /** Leaves out the letters that exceed the limits, and counts the rest as if they were written. */
  async admit(letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
    await this.#count();
    return letters.map((letter) => {
      if (this.#bytes + letter.kept_bytes > this.#limit) return { ...letter, ...NOTHING_KEPT };
      this.#bytes += letter.kept_bytes;
      return letter;
    });
  }

  async #count(): Promise<void> {
    const began = performance.now();
    if (began < this.#countAt) return;
    this.#bytes = (await takeCensus(this.#collection, this.#topic)).bytes;
    const took = performance.now() - began;
    this.#countAt = began + Math.max(CENSUS_MS, CENSUS_SHARE * took);
  }
}
