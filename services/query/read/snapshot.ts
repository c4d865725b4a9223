/** Reads in one snapshot: one aggregate by itself, or several that share one. As a rule the stamp of the store is read with them. */
import type { AggregateOptions, Document } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import type { WithDeadline } from '../deadline.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import type { ReadOne } from '../batched.ts';
import type { Readable } from 'node:stream';

/** What is read from, and for how long. */
export interface Source {
  generation: Generation;
  withDeadline: WithDeadline;
}

/** What is read of one store. */
export interface StoreView extends Source {
  storeId: string;
  /** Whether records are read together with the erasures that are under way, and redacted (`page.ts`). */
  redactErased: boolean;
}

/** A first batch as large as the largest page spares a second trip. */
const OPTIONS: AggregateOptions = { batchSize: 1_000, enableUtf8Validation: false };
const ALONE: AggregateOptions = { ...OPTIONS, readConcern: { level: 'snapshot' } };

/** Runs one aggregate; `hint` names the index that its first collection is read by. */
export type ReadInSnapshot = <T extends Document>(
  collection: string,
  pipeline: Document[],
  hint?: string,
) => Promise<T[]>;

/** One aggregate is one snapshot and one round trip, also when it unites several collections. */
export async function readSnapshot<T extends Document>(
  { generation: { db }, withDeadline }: Source,
  collection: string,
  pipeline: Document[],
  hint?: string,
  options = ALONE,
): Promise<T[]> {
  return withDeadline((signal) =>
    db
      .collection(collection)
      .aggregate<T>(pipeline, { ...options, ...hinted(hint), signal })
      .toArray(),
  );
}

function hinted(hint: string | undefined): AggregateOptions {
  return hint === undefined ? {} : { hint };
}

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

/** Begins a snapshot; the source's limit is for each read. */
export function openSnapshot(source: Source): SnapshotReads {
  const { generation, withDeadline } = source;
  const session = generation.db.client.startSession({ snapshot: true });
  const options = { ...OPTIONS, session };
  return {
    read: (collection, pipeline, hint) => readSnapshot(source, collection, pipeline, hint, options),
    async *batches<T extends Document>(
      collection: string,
      pipeline: Document[],
      hint?: string,
      size = OPTIONS.batchSize ?? 0,
    ) {
      const stopped = new AbortController();
      const { signal } = stopped;
      const cursor = generation.db
        .collection(collection)
        .aggregate<T>(pipeline, { ...options, ...hinted(hint), batchSize: size, signal });
      try {
        while (await withDeadline(() => cursor.hasNext())) yield cursor.readBufferedDocuments();
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

/** Runs several reads, one after the other, in one snapshot. */
export async function inSnapshot<R>(source: Source, run: (reads: SnapshotReads) => Promise<R>): Promise<R> {
  const reads = openSnapshot(source);
  try {
    return await run(reads);
  } finally {
    await reads.end();
  }
}

/** The last stage of a snapshot: the store's stamp as it lies there, since a projection would cost as much as the read. */
export function unionWithStamp({ storeId }: { storeId: string }): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } };
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

/** What the stamp of a store is read with. */
export interface StampView {
  storeId: string;
  withDeadline: WithDeadline;
  shared: { stamp: ReadOne<Stamp> };
}

/** The store's stamp alone; `null` while nothing of the store has arrived. */
export async function readStamp({ storeId, withDeadline, shared }: StampView): Promise<Stamp | null> {
  return withDeadline((signal) => shared.stamp(storeId, signal));
}

/** The offset in which a store's answers are given. */
export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}

/** A body as it leaves; a stream is to be read to its end, or destroyed. */
export type Body = string | Buffer | Readable;

export interface Found<B extends Body = string> {
  body: B;
  stamp: Stamp | null;
}

/** A body as it lies in the read model, with the offset it was made for. */
export interface StoredBody {
  body: string;
  offset: string;
}
