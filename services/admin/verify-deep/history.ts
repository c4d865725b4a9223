/**
 * What the log says, folded to what counts: for each entity the newest version and where it lies, and what the
 * documents of others depend on: stores' offsets and deletions of customers. No states: those are read again.
 *
 * Where partitions were added, a store's events lie in several, and which were applied first is not known. Versions decide about
 * each entity all the same; where the order would matter, the history says so and both ways are right.
 */
import type { KafkaMessage } from 'kafkajs';
import { type Change, readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { tombstoneId } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET, EXACT } from '#shared/read-models/local-time.ts';

/** Where a message lies in the topic. */
export interface Place {
  partition: number;
  offset: number;
}

interface Version extends Place {
  sequence: number;
  deleted: boolean;
}

export interface Newest extends Version {
  /** Whether its document was found. */
  found: boolean;
  /** The same version once more, in other partitions: of two the first that is applied counts. */
  others?: Version[];
}

export class History {
  /** By `<entity>/<store id>/<entity id>`. */
  readonly entities = new Map<string, Newest>();
  /** All stores. */
  readonly stores = new Set<string>();
  /** Offsets that a store ever had, the default left out. */
  readonly #offsets = new Map<string, Set<string>>();
  /** Changes of customers by their keys: of those who were deleted, from the first time on; of all where partitions are several. */
  readonly #customers = new Map<string, Version[]>();
  readonly #only: ReadonlySet<string> | null;
  readonly #isSpread: boolean;

  /**
   * @param only the stores of interest; `null` for all.
   * @param isSpread whether several partitions are taken in.
   */
  constructor(only: ReadonlySet<string> | null, isSpread: boolean) {
    this.#only = only;
    this.#isSpread = isSpread;
  }

  /** Reads a message; `null` for one that is no event, or of another store. */
  read(message: KafkaMessage): Change | null {
    if (this.#only !== null && !this.#only.has(message.key?.toString('utf8') ?? '')) return null;
    try {
      return readChange(message);
    } catch (error) {
      if (error instanceof EventRejected) return null;
      throw error;
    }
  }

  /** Takes in a change, the ones before it in its partition being known; one that is not newer changes nothing. */
  take(change: Change, { partition, offset }: Place): void {
    const { entity, storeId, id, sequence, state } = change;
    const key = tombstoneId(entity, storeId, id);
    const before = this.entities.get(key);
    const version = { sequence, partition, offset, deleted: state === null };
    // What is outdated here may have been applied before what outdates it in another partition.
    if (this.#isSpread) this.#note(change, key, version);
    this.stores.add(storeId);
    if (before !== undefined && before.sequence >= sequence) {
      if (before.sequence === sequence && before.partition !== partition)
        (before.others ??= []).push(version);
      return;
    }
    this.entities.set(key, { ...version, found: false });
    if (!this.#isSpread) this.#note(change, key, version);
  }

  #note(change: Change, key: string, version: Version): void {
    const { storeId } = change;
    if (change.entity === 'store') {
      const zone = change.state?.timezone_offset;
      const all = this.#offsets.get(storeId) ?? new Set();
      if (zone !== undefined) this.#offsets.set(storeId, all.add(zone));
    }
    if (change.entity === 'customer') {
      const versions = this.#customers.get(key);
      if (versions !== undefined) versions.push(version);
      else if (version.deleted || this.#isSpread) this.#customers.set(key, [version]);
    }
  }

  /** Whether a document may have been made for an offset. */
  hadOffset(storeId: string, zone: string): boolean {
    return zone === DEFAULT_OFFSET || zone === EXACT || (this.#offsets.get(storeId)?.has(zone) ?? false);
  }

  /**
   * Whether a record that names a customer shows nothing of them: they were deleted when it came, or later. Both where that
   * depends on which of two partitions was applied first.
   */
  isErased(storeId: string, customer: string, at: Place): boolean | 'perhaps' {
    const key = tombstoneId('customer', storeId, customer);
    const versions = this.#customers.get(key) ?? [];
    if (!versions.some(({ deleted }) => deleted)) return false;
    const newest = this.entities.get(key);
    // The last word, whenever it is said: what came before shows nothing any more, what comes after nothing yet.
    if (newest?.deleted === true && newest.others === undefined) return true;
    if (versions.some(({ partition }) => partition !== at.partition)) return 'perhaps';
    let erased = false;
    let sequence = -1;
    for (const version of versions) {
      if (version.sequence <= sequence) continue;
      ({ sequence } = version);
      if (version.offset < at.offset) erased = version.deleted;
      else if (version.deleted) return true;
    }
    return erased;
  }

  /** The offsets of a partition's messages with the newest states of what exists, ascending. */
  newestOffsets(partition: number): Float64Array {
    const offsets = new Float64Array(this.entities.size);
    let length = 0;
    for (const newest of this.entities.values()) {
      for (const version of [newest, ...(newest.others ?? [])]) {
        if (version.deleted || version.partition !== partition) continue;
        offsets[length] = version.offset;
        length += 1;
        if (newest.others === undefined) break;
      }
    }
    return offsets.subarray(0, length).sort();
  }
}

/** How many entities exist of each store. */
export function countByStore({ entities, stores }: History): Map<string, number> {
  const counts = new Map([...stores].map((store) => [store, 0]));
  for (const [key, newest] of entities) {
    const store = key.split('/', 2)[1] ?? '';
    if (possibly(newest).present) counts.set(store, (counts.get(store) ?? 0) + 1);
  }
  return counts;
}

/** Whether an entity may exist, and whether it may be deleted: both where two versions alike say different things. */
export function possibly({ deleted, others = [] }: Newest): { present: boolean; deleted: boolean } {
  const all = new Set([deleted, ...others.map((other) => other.deleted)]);
  return { present: all.has(false), deleted: all.has(true) };
}
