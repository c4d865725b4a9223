/**
 * Stores that were erased whole. Kafka keeps what it has of them, so whoever applies a log, for the first time or again, passes by
 * what it held when the erasure ended. What is published later begins the store anew.
 */
import type { KafkaMessage } from 'kafkajs';
import type { Db } from 'mongodb';
import { controlCollections, storeAccessId, type StoreErasure } from './access-keys.ts';

/** A message in its partition, with the time that its publisher gave it. */
type Placed = Pick<KafkaMessage, 'offset' | 'timestamp'>;

/** What is as much younger than the end, though its offset lies before it, is of another log: topics made anew count from 0 again. */
const OTHER_LOG_MS = 86_400_000;

/** Asks which of some stores were erased. */
export type FindErased = (storeIds: Iterable<string>) => Promise<ErasedStores>;

/** Asks the control database about the stores of an environment. */
export function findErasedIn(control: Db, environment: string): FindErased {
  return (storeIds) => ErasedStores.among(control, environment, storeIds);
}

/** The erasures of some stores. */
export class ErasedStores {
  readonly #erasures: ReadonlyMap<string, StoreErasure>;

  private constructor(erasures: ReadonlyMap<string, StoreErasure>) {
    this.#erasures = erasures;
  }

  /** Those among some stores, as they are now. */
  static async among(control: Db, environment: string, storeIds: Iterable<string>): Promise<ErasedStores> {
    const ids = [...new Set(storeIds)].map((storeId) => storeAccessId(environment, storeId));
    if (ids.length === 0) return new ErasedStores(new Map());
    const found = await controlCollections(control)
      .stores.find(
        { _id: { $in: ids }, erased: { $exists: true } },
        { projection: { store_id: 1, erased: 1 }, batchSize: 10_000 },
      )
      .toArray();
    return new ErasedStores(
      new Map(found.flatMap(({ store_id, erased }) => (erased === undefined ? [] : [[store_id, erased]]))),
    );
  }

  /** When each store was erased. */
  get times(): ReadonlyMap<string, Date> {
    return new Map([...this.#erasures].map(([storeId, { at }]) => [storeId, at]));
  }

  /**
   * Whether a message of a store is of before the end of its erasure: by its offset. Only of what came while the end was noted the
   * time decides as well, since some processes had heard of it and others had not; a publisher may give any time to its messages.
   */
  passesBy(
    storeId: string,
    { topic, partition }: { topic: string; partition: number },
    message: Placed,
  ): boolean {
    const erasure = this.#erasures.get(storeId);
    if (erasure === undefined) return false;
    const { ends, at } = erasure;
    if (ends === undefined) return true;
    const found = ends.find((end) => end.topic === topic && end.partition === partition);
    if (found === undefined) return false;
    const { end, until = Infinity } = found;
    const [offset, timestamp] = [Number(message.offset), Number(message.timestamp)];
    if (offset < end) return timestamp < at.getTime() + OTHER_LOG_MS;
    return offset < until && timestamp < at.getTime();
  }
}
