/**
 * Plans the writes of a slice. Pure: the same events lead to the same documents, however they are
 * cut into slices.
 */
import type { EntityName } from '../../events/entities.ts';
import { EventRejected } from '../../events/rejection.ts';
import { getOrInsert } from '../../maps.ts';
import {
  documentId,
  type ReadModelDocument,
  type Tombstone,
  tombstoneId,
  type Unplaced,
} from '../../read-models/collections.ts';
import { NAMING_CUSTOMERS } from '../../read-models/erasures.ts';
import { DEFAULT_OFFSET } from '../../read-models/local-time.ts';
import { rankEntries } from '../../read-models/rank-tree/trees.ts';
import { type LayoutChanges, noteLayout, placeOf } from './layouts.ts';
import { noteMove, type TreeChanges } from '../rank-tree/loaded-tree.ts';
import { type TakenPositions, takePosition } from '../slice/epochs.ts';
import type { Chain, Entry, Rejected, ProjectedChange } from './decode.ts';
import type { Stored } from './stored.ts';

export interface StampChange extends TakenPositions {
  /** How far each entity's counter moves: by one for each event that takes effect. */
  counters: Partial<Record<EntityName, number>>;
  /** How many records of each entity there are more, or fewer. */
  counts: Partial<Record<EntityName, number>>;
  tombstones: Partial<Record<EntityName, number>>;
  /**
   * The store's new offset; `null` removes it; absent where the store's own record did not change.
   */
  offset?: string | null;
  /** Whether customers of the store are being erased from now on. */
  erasing?: true;
}

export type Plan = ReturnType<typeof emptyPlan>;

function emptyPlan() {
  return {
    inserts: new Map<EntityName, ReadModelDocument[]>(),
    replacements: new Map<EntityName, ReadModelDocument[]>(),
    removals: new Map<EntityName, string[]>(),
    tombstones: [] as Tombstone[],
    /** `_id`s of tombstones of entities that are back. */
    restored: [] as string[],
    stamps: new Map<string, StampChange>(),
    /** Versions of the stores' own records that changed or went, by store id. */
    storeRecords: new Map<string, number>(),
    /**
     * Deleted customers by store id, with the index of their last deletion: their data goes from
     * stored documents.
     */
    erased: new Map<string, Map<string, number>>(),
    trees: new Map() as TreeChanges,
    layouts: new Map() as LayoutChanges,
    /** Changes whose document could not be made, with their message's index in the slice. */
    failed: [] as Rejected[],
    /**
     * The effective changes, for metrics, with their message's index, without their documents,
     * which are large.
     */
    applied: [] as (Pick<ProjectedChange, 'entity' | 'time' | 'newerVersion'> &
      Pick<Entry, 'at'>)[],
    outdated: 0,
  };
}

export function plan(chains: ReadonlyMap<string, Chain>, stored: Stored): Plan {
  const result = emptyPlan();
  const effective = new Map<string, readonly Entry[]>();
  for (const { key, entries, outdated } of chains.values()) {
    const version = stored.sequences.get(key) ?? -1;
    const newer = entries.filter(({ change }) => change.sequence > version);
    result.outdated += outdated + entries.length - newer.length;
    if (newer.length > 0) effective.set(key, newer);
  }
  const outcomes: Outcome[] = [];
  for (const [key, entries] of effective) {
    const outcome = outcomeOf(key, entries, effective, stored, result.failed);
    if (outcome !== null) outcomes.push(outcome);
  }
  const positions = takePositions(result, outcomes, stored);
  for (const outcome of outcomes)
    planOutcome(result, outcome, positions.get(outcome.last) ?? 0, stored);
  return result;
}

/** The effective entries of one entity, and the document of the last; `null` if that deletes. */
interface Outcome {
  key: string;
  entries: readonly Entry[];
  last: Entry;
  document: Unplaced<ReadModelDocument> | null;
}

/** The outcome of an entity's newer entries. An entry whose document cannot be made is skipped. */
function outcomeOf(
  key: string,
  entries: readonly Entry[],
  effective: ReadonlyMap<string, readonly Entry[]>,
  stored: Stored,
  failed: Rejected[],
): Outcome | null {
  for (let length = entries.length; length > 0; length -= 1) {
    const last = entries[length - 1];
    if (last === undefined) break;
    try {
      const document = last.change.deletes ? null : projectEntry(last, effective, stored);
      return { key, entries: entries.slice(0, length), last, document };
    } catch (cause) {
      const rejection = new EventRejected('projection_failed', 'no document can be made of it', {
        cause,
      });
      failed.push({ at: last.at, rejection });
    }
  }
  return null;
}

/**
 * Replaced events take positions too, so that a record's position does not depend on how slices are
 * cut.
 */
function takePositions(
  result: Plan,
  outcomes: readonly Outcome[],
  stored: Stored,
): ReadonlyMap<Entry, number> {
  const positions = new Map<Entry, number>();
  for (const entry of outcomes.flatMap(({ entries }) => entries).toSorted((a, b) => a.at - b.at)) {
    const { storeId, entity } = entry.change;
    positions.set(entry, takePosition(stampOf(result, storeId, stored), entity));
  }
  return positions;
}

function planOutcome(
  result: Plan,
  { key, entries, last: { change }, document }: Outcome,
  feed_position: number,
  stored: Stored,
): void {
  const { entity, storeId, id, sequence } = change;
  const isDeleted = stored.tombstones.has(key);
  const isStored = stored.sequences.has(key) && !isDeleted;
  const after = document === null ? null : { ...document, feed_position };
  noteMove(
    result.trees,
    storeId,
    stored.ranked.get(key) ?? [],
    after === null ? [] : rankEntries(entity, after),
  );
  const place = after === null ? null : placeOf(entity, after);
  noteLayout(result.layouts, storeId, stored.placed.get(key) ?? null, place);
  if (after !== null) {
    push(isStored ? result.replacements : result.inserts, entity, after);
    if (isDeleted) result.restored.push(key);
  } else {
    if (isStored) push(result.removals, entity, documentId(storeId, id));
    result.tombstones.push({ _id: key, store_id: storeId, entity, sequence, feed_position });
  }

  const stamp = stampOf(result, storeId, stored);
  add(stamp.counters, entity, entries.length);
  add(stamp.counts, entity, (change.deletes ? 0 : 1) - (isStored ? 1 : 0));
  add(stamp.tombstones, entity, (change.deletes ? 1 : 0) - (isDeleted ? 1 : 0));
  if (entity === 'store') {
    stamp.offset = change.timezoneOffset;
    result.storeRecords.set(storeId, sequence);
  }
  if (entity === 'customer') {
    const deletions = entries.filter((entry) => entry.change.deletes);
    const lastDeletion = deletions.at(-1);
    if (lastDeletion !== undefined) {
      getOrInsert(result.erased, storeId, () => new Map()).set(id, lastDeletion.at);
      for (const naming of NAMING_CUSTOMERS) add(stamp.counters, naming, deletions.length);
    }
  }
  for (const { change: applied, at } of entries) {
    const { time, newerVersion } = applied;
    result.applied.push({ entity, time, at, ...(newerVersion !== undefined && { newerVersion }) });
  }
}

function projectEntry(
  { change, at }: Entry,
  effective: ReadonlyMap<string, readonly Entry[]>,
  stored: Stored,
) {
  const { storeId, customerId } = change;
  const customerKey = customerId === null ? null : tombstoneId('customer', storeId, customerId);
  return change.documentIn({
    offset: offsetAt(
      effective.get(tombstoneId('store', storeId, storeId)),
      stored.stamps.get(storeId)?.timezone_offset,
      at,
    ),
    customerErased:
      customerKey !== null &&
      isErased(effective.get(customerKey), stored.tombstones.has(customerKey), at),
  });
}

/** The store's offset for the event at index `at`, including that event. */
function offsetAt(
  storeEntries: readonly Entry[] | undefined,
  before: string | undefined,
  at: number,
): string {
  let offset = before;
  for (const entry of storeEntries ?? []) {
    if (entry.at <= at) offset = entry.change.timezoneOffset ?? undefined;
  }
  return offset ?? DEFAULT_OFFSET;
}

/**
 * Whether the customer was deleted before index `at`, or is deleted later in the slice (rule
 * R13.3).
 */
function isErased(
  customerEntries: readonly Entry[] | undefined,
  deletedBefore: boolean,
  at: number,
): boolean {
  let deleted = deletedBefore;
  for (const entry of customerEntries ?? []) {
    if (entry.at < at) deleted = entry.change.deletes;
    else if (entry.change.deletes) return true;
  }
  return deleted;
}

function stampOf({ stamps }: Plan, storeId: string, stored: Stored): StampChange {
  return getOrInsert(stamps, storeId, () => {
    const position = stored.stamps.get(storeId)?.position ?? 0;
    return { counters: {}, counts: {}, tombstones: {}, position, positions: {} };
  });
}

function add(numbers: Partial<Record<EntityName, number>>, entity: EntityName, by: number): void {
  numbers[entity] = (numbers[entity] ?? 0) + by;
}

function push<T>(lists: Map<EntityName, T[]>, entity: EntityName, item: T): void {
  getOrInsert(lists, entity, () => []).push(item);
}
