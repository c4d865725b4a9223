/** Reads in one snapshot: one aggregate by itself, or several that share one. As a rule the stamp of the store is read with them. */
import {
  type AggregateOptions,
  type ClientSession,
  type Collection,
  type Document,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
} from 'mongodb';
import { isUnavailable } from '#shared/errors.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { WithDeadline } from '../deadline.ts';
import { oneOf, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { decodeDocument, decodeFirstBatch, type KnownRows } from './bson.ts';
import type { Readable } from 'node:stream';

/** What is read from, and for how long. */
export interface Source {
  generation: Generation;
  withDeadline: WithDeadline;
  /** By generation, kind of read and store. */
  rows: KnownRows;
}

/** What is read of one store. */
export interface StoreView extends Source {
  storeId: string;
  /** Whether records are read together with the erasures that are under way, and redacted (`page.ts`). */
  redactErased: boolean;
}

/** A first batch as large as the largest page spares a second trip. */
const BATCH = 1_000;

/** How an aggregate is run. */
interface ReadOptions {
  /** The index that its first collection is read by. */
  hint?: string | undefined;
  session?: ClientSession | undefined;
  /** Of rows that are a stamp and more, or `null` where they are not kept: by it they are compared with those of the last read. */
  kind?: string | null;
}

/** Runs one aggregate; `hint` names the index that its first collection is read by. Bodies of records are bytes (`bson.ts`). */
export type ReadInSnapshot = <T extends Document>(
  collection: string,
  pipeline: Document[],
  hint?: string,
) => Promise<T[]>;

/**
 * One aggregate is one snapshot and one round trip, also when it unites several collections. Sends a command and reads its reply as it
 * came: the driver's cursor would take twice the time (decision 0080). It reads what does not fit into one reply, and what was lost with a
 * connection.
 */
export async function readSnapshot<T extends Document>(
  source: Source,
  collection: string,
  pipeline: Document[],
  options: ReadOptions = {},
): Promise<T[]> {
  const { hint, session, kind = collection === STAMPS ? null : '' } = options;
  const { db } = source.generation;
  // The deadline's signal is not for the driver, which would listen to it at a high price: a connection whose reply is overdue is closed.
  return source.withDeadline(async () => {
    const { readPreference } = db;
    const command = {
      aggregate: collection,
      pipeline,
      cursor: { batchSize: BATCH },
      ...hinted(hint),
      ...concernOf(session),
    };
    try {
      const sent = { raw: true, ...(readPreference === undefined ? {} : { readPreference }) };
      const { cursor } = await db.command(command, session === undefined ? sent : { ...sent, session });
      const rows = decodeFirstBatch(cursor as Uint8Array, kind === null ? null : rowsOf(source, kind));
      if (rows !== null) return rows as T[];
    } catch (error) {
      if (!isWorthRetrying(error)) throw error;
    }
    return readByCursor<T>(db.collection(collection), pipeline, options);
  });
}

/** The stamp of a store as it was read last, alone or with records; `null` where it was not. */
export function lastStamp(source: Source, storeId: string): Stamp | null {
  return (rowsOf(source, '').get(storeId)?.row as Stamp | undefined) ?? null;
}

function rowsOf({ rows, generation: { marker } }: Source, kind: string): KnownRows {
  const prefix = `${marker.id}/${kind}/`;
  return {
    get: (id) => rows.get(prefix + id),
    set: (id, row) => rows.set(prefix + id, row),
  };
}

async function readByCursor<T>(
  collection: Collection,
  pipeline: Document[],
  { hint, session }: ReadOptions,
): Promise<T[]> {
  const options = { raw: true, ...hinted(hint), ...concernOf(session) };
  const cursor = collection.aggregate(pipeline, session === undefined ? options : { ...options, session });
  const rows = (await cursor.toArray()) as unknown as Uint8Array[];
  return rows.map((row) => decodeDocument(row) as T);
}

/** A session names its snapshot by itself. */
function concernOf(session: ClientSession | undefined): AggregateOptions {
  return session === undefined ? { readConcern: { level: 'snapshot' } } : {};
}

/** Whether a connection was lost, or the primary; not where the time is over. */
function isWorthRetrying(error: unknown): boolean {
  if (error instanceof MongoNetworkTimeoutError) return false;
  return error instanceof MongoNetworkError || (error instanceof MongoServerError && isUnavailable(error));
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
  return {
    read: (collection, pipeline, hint) => readSnapshot(source, collection, pipeline, { hint, session }),
    async *batches<T extends Document>(collection: string, pipeline: Document[], hint?: string, size = BATCH) {
      const stopped = new AbortController();
      const { signal } = stopped;
      const cursor = generation.db
        .collection(collection)
        .aggregate(pipeline, { raw: true, session, ...hinted(hint), batchSize: size, signal });
      try {
        while (await withDeadline(() => cursor.hasNext())) {
          const rows = cursor.readBufferedDocuments() as unknown as Uint8Array[];
          yield rows.map((row) => decodeDocument(row) as T);
        }
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

/** The last stage of a snapshot: the stamps of stores as they lie there, since a projection would cost as much as the read. */
export function unionWithStamps(...storeIds: readonly string[]): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: oneOf(storeIds) } }] } };
}

/** One pipeline on a collection from several, the rows of one after those of the other. */
export function united(collection: string, [first = [], ...others]: readonly Document[][]): Document[] {
  return [...first, ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }))];
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

/** The stamps among the rows of a snapshot, by store. */
export function stampsIn(rows: readonly object[]): Map<string, Stamp> {
  return new Map(rows.flatMap((row) => ('_id' in row ? [[(row as Stamp)._id, row as Stamp]] : [])));
}

/** The offset in which a store's answers are given. */
export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}

/** A body as it leaves; a stream is to be read to its end, or destroyed. */
export type Body = Buffer | Readable;

export interface Found<B extends Body = Buffer> {
  body: B;
  stamp: Stamp | null;
}
