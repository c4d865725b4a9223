/** What one request reads from: the records of one store in one generation. */
import { LRUCache } from 'lru-cache';
import type { Document } from 'mongodb';
import type { Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { TreeName } from '#shared/read-models/rank-tree/nodes.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Bounded } from '../deadline.ts';
import type { SharedReads } from './shared-reads.ts';
import { openSnapshot, type ReadInSnapshot, SNAPSHOT, type SnapshotReads } from './snapshot.ts';
import { offsetOf } from './stamp.ts';

export interface View {
  storeId: string;
  generation: Generation;
  /** Until the deadline of the request. */
  bounded: Bounded;
  /** Of the same generation. */
  shared: SharedReads;
  /** Whether records are read together with the erasures that are under way (`masking.ts`). */
  masks: boolean;
}

/** Runs one aggregate in a snapshot of its own; `hint` names the index that its first collection is read by. */
export async function readSnapshot<T extends Document>(
  { generation, bounded }: View,
  collection: string,
  pipeline: Document[],
  hint?: string,
): Promise<T[]> {
  return bounded((signal) =>
    generation.db
      .collection(collection)
      .aggregate<T>(pipeline, { ...SNAPSHOT, signal, ...(hint === undefined ? {} : { hint }) })
      .toArray(),
  );
}

/** Runs several reads, one after the other, in one snapshot: that of the first. */
export async function inSnapshot<R>(
  { generation, bounded }: View,
  run: (read: ReadInSnapshot, reads: SnapshotReads) => Promise<R>,
): Promise<R> {
  const reads = openSnapshot(generation, bounded);
  try {
    return await run(reads.read, reads);
  } finally {
    await reads.end();
  }
}

const CACHED_HINTS = 10_000;
const hints = new LRUCache<string, StampHint>({ max: CACHED_HINTS });

/** What a store’s stamp said when it was read last: a hint how to read, until the stamp is read again. */
export interface StampHint {
  /** The offset in which its answers are given. */
  offset: string;
  /** The rank trees that have leaves; `null` for a store that was not read yet. */
  leafy: ReadonlySet<TreeName> | null;
  /** Whether it had erasures under way. */
  erasing: boolean;
}

const NO_HINT: StampHint = { offset: DEFAULT_OFFSET, leafy: null, erasing: false };

/** What was true of the store when it was read last. */
export function hintOf({ storeId, generation }: Pick<View, 'storeId' | 'generation'>): StampHint {
  return hints.get(`${generation.marker.id}/${storeId}`) ?? NO_HINT;
}

/** Caches what a stamp says, for the next request. */
export function cacheHint(view: View, stamp: Stamp | null): void {
  const hint = hintOf(view);
  const offset = offsetOf(stamp);
  const leafy = Object.entries(stamp?.ranks ?? {}).flatMap(([tree, root]) =>
    root.leaves === undefined ? [] : (tree as TreeName),
  );
  const erasing = stamp?.erasing === true;
  const { leafy: before } = hint;
  if (
    offset === hint.offset &&
    erasing === hint.erasing &&
    leafy.length === before?.size &&
    leafy.every((tree) => before.has(tree))
  )
    return;
  hints.set(`${view.generation.marker.id}/${view.storeId}`, { offset, leafy: new Set(leafy), erasing });
}
