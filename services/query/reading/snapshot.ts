/** Reads in one snapshot: the options of a read that is one by itself, and several reads that share one. */
import type { AggregateOptions, Document } from 'mongodb';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Bounded } from '../deadline.ts';

/**
 * One aggregate is one snapshot and one round trip, also when it unites several collections. A first batch as
 * large as the largest page spares a second trip.
 */
export const SNAPSHOT: AggregateOptions = {
  readConcern: { level: 'snapshot' },
  batchSize: 1_000,
  enableUtf8Validation: false,
};

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
