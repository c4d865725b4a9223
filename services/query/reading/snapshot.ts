/** Reads in one snapshot: one aggregate by itself, or several that share one. */
import type { AggregateOptions, Document } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Bounded } from '../deadline.ts';

/** What is read from, and for how long. */
export interface Source {
  generation: Generation;
  bounded: Bounded;
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
  { generation: { db }, bounded }: Source,
  collection: string,
  pipeline: Document[],
  hint?: string,
  options = ALONE,
): Promise<T[]> {
  return bounded((signal) =>
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
  const { generation, bounded } = source;
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

/** Runs several reads, one after the other, in one snapshot. */
export async function inSnapshot<R>(source: Source, run: (reads: SnapshotReads) => Promise<R>): Promise<R> {
  const reads = openSnapshot(source);
  try {
    return await run(reads);
  } finally {
    await reads.end();
  }
}
