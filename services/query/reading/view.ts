/** What one request reads from: the records of one store in one generation. */
import { LRUCache } from 'lru-cache';
import type { Document } from 'mongodb';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { TreeName } from '#shared/read-models/rank-tree/nodes.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { Bounded } from '../deadline.ts';
import type { SharedReads } from './shared-reads.ts';
import { SNAPSHOT } from './snapshot.ts';

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

/** Runs one aggregate in a snapshot that several share. */
export type ReadInSnapshot = <T extends Document>(
  collection: string,
  pipeline: Document[],
  hint?: string,
) => Promise<T[]>;

/** Reads that share a snapshot: that of the first. One follows the other. */
export interface SnapshotReads {
  read: ReadInSnapshot;
  /** The rows of one aggregate as they come, `size` at a time, each time by a read of its own; ended early, it leaves nothing behind. */
  batches: <T extends Document>(
    collection: string,
    pipeline: Document[],
    hint?: string,
    size?: number,
  ) => AsyncGenerator<T[]>;
  /** Gives the snapshot up. */
  end: () => Promise<void>;
}

/** Begins a snapshot; `bounded` is for each read. */
export function openSnapshot({ db }: Generation, bounded: Bounded): SnapshotReads {
  const session = db.client.startSession({ snapshot: true });
  const { readConcern: _ofTheSession, ...options } = SNAPSHOT;
  const optionsOf = (hint?: string) => ({ ...options, session, ...(hint === undefined ? {} : { hint }) });
  return {
    read: (collection, pipeline, hint) =>
      bounded((signal) =>
        db
          .collection(collection)
          .aggregate<never>(pipeline, { ...optionsOf(hint), signal })
          .toArray(),
      ),
    async *batches<T extends Document>(
      collection: string,
      pipeline: Document[],
      hint?: string,
      size?: number,
    ) {
      const batch = size === undefined ? {} : { batchSize: size };
      const stopped = new AbortController();
      const { signal } = stopped;
      const cursor = db
        .collection(collection)
        .aggregate<T>(pipeline, { ...optionsOf(hint), ...batch, signal });
      try {
        while (await bounded(() => cursor.hasNext())) yield cursor.readBufferedDocuments();
      } catch (error) {
        stopped.abort(error);
        throw error;
      } finally {
        // Not awaited: a server that hangs would keep whoever has its rows.
        void cursor.close().catch(() => undefined);
      }
    },
    end: () => session.endSession(),
  };
}

/** Runs several reads, one after the other, in one snapshot: that of the first. */
export async function inSnapshot<R>(
  { generation, bounded }: View,
  run: (read: ReadInSnapshot) => Promise<R>,
): Promise<R> {
  const reads = openSnapshot(generation, bounded);
  try {
    return await run(reads.read);
  } finally {
    await reads.end();
  }
}

/** The last stage of a snapshot: the store's stamp as it lies there, since a projection would cost as much as the read. */
export function unionWithStamp({ storeId }: View): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } };
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

/** The store's stamp alone; `null` while nothing of the store has arrived. */
export async function readStamp({ storeId, bounded, shared }: View): Promise<Stamp | null> {
  return bounded((signal) => shared.stamp(storeId, signal));
}

/** The offset in which a store's answers are given. */
export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}

const REMEMBERED_STORES = 10_000;
const lastSeen = new LRUCache<string, Seen>({ max: REMEMBERED_STORES });

/** What was true of a store when it was read last: a good guess before it is read again. */
export interface Seen {
  /** The offset in which its answers are given. */
  offset: string;
  /** The rank trees that have leaves; `null` for a store that was not read yet. */
  leafy: ReadonlySet<TreeName> | null;
  /** Whether it had erasures under way. */
  erasing: boolean;
}

const UNSEEN: Seen = { offset: DEFAULT_OFFSET, leafy: null, erasing: false };

/** What was true of the store when it was read last. */
export function lastSeenOf({ storeId, generation }: Pick<View, 'storeId' | 'generation'>): Seen {
  return lastSeen.get(`${generation.marker.id}/${storeId}`) ?? UNSEEN;
}

/** Remembers what a stamp says for the next guess. */
export function remember(view: View, stamp: Stamp | null): void {
  const seen = lastSeenOf(view);
  const offset = offsetOf(stamp);
  const leafy = Object.entries(stamp?.ranks ?? {}).flatMap(([tree, root]) =>
    root.leaves === undefined ? [] : (tree as TreeName),
  );
  const erasing = stamp?.erasing === true;
  const { leafy: before } = seen;
  if (
    offset === seen.offset &&
    erasing === seen.erasing &&
    leafy.length === before?.size &&
    leafy.every((tree) => before.has(tree))
  )
    return;
  lastSeen.set(`${view.generation.marker.id}/${view.storeId}`, { offset, leafy: new Set(leafy), erasing });
}
