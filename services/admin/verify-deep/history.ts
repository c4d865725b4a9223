/**
 * What the log says, folded to what counts: for each entity the newest version and where it lies, and what the
 * documents of others depend on: stores' offsets and deletions of customers. No states: those are read again.
 */
import type { KafkaMessage } from 'kafkajs';
import { type Change, readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { tombstoneId } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET, EXACT } from '#shared/read-models/local-time.ts';

export interface Newest {
  sequence: number;
  /** Of its message. */
  offset: number;
  deleted: boolean;
  /** Whether its document was found. */
  found: boolean;
}

export class History {
  /** By `<entity>/<store id>/<entity id>`. */
  readonly entities = new Map<string, Newest>();
  /** Each store's present offset, `null` where it has none; its keys are all stores of the partition. */
  readonly stores = new Map<string, string | null>();
  /** Offsets that a store ever had, the default included. */
  readonly #offsets = new Map<string, Set<string>>();
  /** Deletions of customers and what came after them, by the customer's key. */
  readonly #customers = new Map<string, { offset: number; deleted: boolean }[]>();
  readonly #only: string | null;

  /** @param only the one store of interest. */
  constructor(only: string | null) {
    this.#only = only;
  }

  /** Reads a message; `null` for one that is no event, or of another store. */
  read(message: KafkaMessage): Change | null {
    if (this.#only !== null && message.key?.toString('utf8') !== this.#only) return null;
    try {
      return readChange(message);
    } catch (error) {
      if (error instanceof EventRejected) return null;
      throw error;
    }
  }

  /** Takes in a change, the ones before it being known; one that is not newer changes nothing. */
  take(change: Change, offset: number): void {
    const { entity, storeId, id, sequence, state } = change;
    const key = tombstoneId(entity, storeId, id);
    if (!this.stores.has(storeId)) this.stores.set(storeId, null);
    const before = this.entities.get(key);
    if (before !== undefined && before.sequence >= sequence) return;
    const deleted = state === null;
    this.entities.set(key, { sequence, offset, deleted, found: false });
    if (change.entity === 'store') {
      const zone = change.state?.timezone_offset ?? null;
      this.stores.set(storeId, zone);
      const all = this.#offsets.get(storeId) ?? new Set([DEFAULT_OFFSET]);
      this.#offsets.set(storeId, zone === null ? all : all.add(zone));
    }
    if (entity === 'customer') {
      const deletions = this.#customers.get(key);
      if (deletions !== undefined) deletions.push({ offset, deleted });
      else if (deleted) this.#customers.set(key, [{ offset, deleted }]);
    }
  }

  /** Whether a document may have been made for an offset. */
  hadOffset(storeId: string, zone: string): boolean {
    return zone === DEFAULT_OFFSET || zone === EXACT || (this.#offsets.get(storeId)?.has(zone) ?? false);
  }

  /** Whether a record that names a customer shows nothing of them: they were deleted when it came, or later. */
  isErased(storeId: string, customer: string, at: number): boolean {
    let erased = false;
    for (const { offset, deleted } of this.#customers.get(tombstoneId('customer', storeId, customer)) ?? []) {
      if (offset < at) erased = deleted;
      else if (deleted) return true;
    }
    return erased;
  }

  /** The offsets of the messages with the newest states of what exists, ascending. */
  newestOffsets(): Float64Array {
    const offsets = new Float64Array(this.entities.size);
    let length = 0;
    for (const { offset, deleted } of this.entities.values()) {
      if (deleted) continue;
      offsets[length] = offset;
      length += 1;
    }
    return offsets.subarray(0, length).sort();
  }
}
