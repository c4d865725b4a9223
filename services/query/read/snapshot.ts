/** Reads in one snapshot, of one aggregate or several. Most read the stamp of the store too. */
import {
  type AggregateOptions,
  type AggregationCursor,
  type ClientSession,
  type Document,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
} from 'mongodb';
import { hasCode, isDocumentTooLarge, isUnavailable, unavailable } from '#shared/errors.ts';
import { type Generation, hasMarker } from '#shared/read-models/generation.ts';
import type { WithDeadline } from '../deadline.ts';
import { oneOf, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import { decodeDocument, decodeFirstBatch, type KnownRows } from './bson.ts';
import type { Readable } from 'node:stream';

/** A generation to read from, with a deadline. */
export interface Source {
  generation: Generation;
  /** Bounds its reads: each on its own, or in a view all of a request together. */
  withDeadline: WithDeadline;
  /** By generation, kind of read and store. */
  rows: KnownRows;
  /** Of a read that no other request waits for. */
  alone?: Alone;
}

interface Alone {
  /** The snapshot of all its reads, which may have more than one reply. */
  session?: ClientSession;
  /** Rows of pages are ids: their records are too large to be read at once. */
  idsOnly?: true;
}

export interface StoreView extends Source {
  storeId: string;
  /** Whether records are read with the erasures under way, and redacted (`page.ts`). */
  redactErased: boolean;
}

/**
 * More than the rows of any read that should take one round trip: the largest pages, and the leaves
 * of a large store's search.
 */
const SINGLE_BATCH = 100_000;
/** Rows of one batch of a stream. */
const BATCH = 1_000;

interface ReadOptions {
  /** The index that its first collection is read by. */
  hint?: string | undefined;
  session?: ClientSession | undefined;
  /**
   * The kind of rows that hold a stamp, to reuse rows with the same bytes; `null` for rows that are
   * not kept.
   */
  kind?: string | null;
}

/**
 * Runs one aggregate; `hint` names the index that its first collection is read by. Bodies of
 * records are bytes (`bson.ts`).
 */
export type ReadInSnapshot = <T extends Document>(
  collection: string,
  pipeline: Document[],
  hint?: string,
) => Promise<T[]>;

/** The rows do not fit into one reply (16 MiB). */
class ReplyTooLarge extends Error {}

/** Whether a read is too large for others to wait for it: it is done alone. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ReplyTooLarge || isDocumentTooLarge(error);
}

/**
 * Runs one aggregate: one snapshot and one round trip, also over several collections. It decodes
 * the raw reply: the driver's cursor would take twice the time (decision 0080). The cursor is used
 * after a lost connection, and for more than 16 MiB in the snapshot of a read alone. MongoDB ends
 * it at its deadline.
 */
export async function readSnapshot<T extends Document>(
  source: Source,
  collection: string,
  pipeline: Document[],
  options: ReadOptions = {},
): Promise<T[]> {
  const { alone } = source;
  const { hint, session = alone?.session, kind = collection === STAMPS ? null : '' } = options;
  const { db } = source.generation;
  // The driver does not get the signal, which is expensive there: the connection of an overdue
  // reply is closed instead.
  return source.withDeadline(async (signal, leftMs) => {
    const { readPreference } = db;
    const bounds: AggregateOptions = {
      maxTimeMS: leftMs,
      ...(hint !== undefined && { hint }),
      // A session has its own snapshot.
      ...(session === undefined && { readConcern: { level: 'snapshot' } }),
    };
    const command = {
      aggregate: collection,
      pipeline,
      cursor: { batchSize: SINGLE_BATCH },
      ...bounds,
    };
    const sent = {
      raw: true,
      ...(readPreference !== undefined && { readPreference }),
      ...(alone !== undefined && { socketTimeoutMS: leftMs }),
    };
    const within = session !== undefined && { session };
    try {
      const { cursor } = await db.command(command, { ...sent, ...within });
      const reply = decodeFirstBatch(
        cursor as Uint8Array,
        kind === null ? null : rowsOf(source, kind),
      );
      if ('rows' in reply) return reply.rows as T[];
      // Not awaited. MongoDB would keep it for half an hour; behind several routers another one may
      // be asked, which ignores it.
      void db
        .command({ killCursors: collection, cursors: [reply.open] }, sent)
        .catch(() => undefined);
      if (alone?.session === undefined)
        throw new ReplyTooLarge(`a read of ${collection} has more than one reply`);
    } catch (error) {
      if (!isWorthRetrying(error)) throw error;
    }
    const options = { raw: true, ...bounds, ...within };
    const found = db.collection(collection).aggregate(pipeline, options);
    const hasNext = () => {
      signal.throwIfAborted();
      return found.hasNext();
    };
    return (await Array.fromAsync(batchesOf<T>(found, hasNext))).flat();
  });
}

/**
 * Proves that a read without a stamp was of the generation, not of a database that was dropped since the pointer was polled.
 * @throws {StoreDataError} `environment_unavailable`
 */
export async function proveGeneration({ generation, withDeadline }: Source) {
  if (await withDeadline(() => hasMarker(generation))) return;
  throw unavailable('the read models that were read are gone: another generation answers soon');
}

/** The last stamp that was read of a store, alone or with records. */
export function lastStamp(source: Source, storeId: string): Stamp | null {
  return (rowsOf(source, '').get(storeId)?.row as Stamp | undefined) ?? null;
}

export function forgetStamp(source: Source, storeId: string): void {
  rowsOf(source, '').delete(storeId);
}

function rowsOf({ rows, generation: { marker } }: Source, kind: string): KnownRows {
  const prefix = `${marker.id}/${kind}/`;
  return {
    get: (id) => rows.get(prefix + id),
    set: (id, row) => rows.set(prefix + id, row),
    delete: (id) => rows.delete(prefix + id),
  };
}

/** The batches of a cursor of raw documents; an early end closes it. */
async function* batchesOf<T>(
  cursor: AggregationCursor,
  hasNext: () => Promise<boolean>,
): AsyncGenerator<T[]> {
  try {
    while (await hasNext()) {
      const rows = cursor.readBufferedDocuments() as unknown as Uint8Array[];
      yield rows.map((row) => decodeDocument(row) as T);
    }
  } finally {
    // Not awaited: a hanging server would block the caller.
    void cursor.close().catch(() => undefined);
  }
}

const MAX_TIME_EXPIRED = 50;

/** Whether a connection or the primary was lost; not after a timeout. */
function isWorthRetrying(error: unknown): boolean {
  if (error instanceof MongoNetworkTimeoutError || hasCode(error, MAX_TIME_EXPIRED)) return false;
  return (
    error instanceof MongoNetworkError ||
    (error instanceof MongoServerError && isUnavailable(error))
  );
}

/** Reads, one after the other, that share the snapshot of the first. */
export interface SnapshotReads {
  session: ClientSession;
  read: ReadInSnapshot;
  /**
   * The rows of one aggregate, `size` at a time, each batch with a deadline of its own. An early
   * end closes the cursor.
   */
  batches: <T extends Document>(
    collection: string,
    pipeline: Document[],
    hint?: string,
    size?: number,
  ) => AsyncGenerator<T[]>;
  end: () => Promise<void>;
}

/**
 * Begins a snapshot, unless the source has one. The deadline of the source holds for each read
 * alone.
 */
export function openSnapshot(source: Source): SnapshotReads {
  const { generation, withDeadline, alone } = source;
  const session = alone?.session ?? generation.db.client.startSession({ snapshot: true });
  return {
    session,
    read: (collection, pipeline, hint) =>
      readSnapshot(source, collection, pipeline, { hint, session }),
    async *batches<T extends Document>(
      collection: string,
      pipeline: Document[],
      hint?: string,
      size = BATCH,
    ) {
      const stopped = new AbortController();
      const { signal } = stopped;
      const cursor = generation.db.collection(collection).aggregate(pipeline, {
        raw: true,
        session,
        ...(hint !== undefined && { hint }),
        batchSize: size,
        signal,
      });
      try {
        yield* batchesOf<T>(cursor, () => withDeadline(() => cursor.hasNext()));
      } catch (error) {
        stopped.abort(error);
        throw error;
      }
    },
    end: async () => (session === alone?.session ? undefined : session.endSession()),
  };
}

export async function inSnapshot<R>(
  source: Source,
  run: (reads: SnapshotReads) => Promise<R>,
): Promise<R> {
  const reads = openSnapshot(source);
  try {
    return await run(reads);
  } finally {
    await reads.end();
  }
}

/**
 * The last stage of a pipeline: adds the stamps of stores. A projection would cost as much as the
 * read.
 */
export function unionWithStamps(...storeIds: readonly string[]): Document {
  return { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: oneOf(storeIds) } }] } };
}

/** One pipeline from several on a collection: the rows of each after those of the one before. */
export function unionOf(
  collection: string,
  [first = [], ...others]: readonly Document[][],
): Document[] {
  return [...first, ...others.map((pipeline) => ({ $unionWith: { coll: collection, pipeline } }))];
}

/** The stamp among the rows of a snapshot: the one row that has an `_id`. */
export function stampIn(rows: readonly object[]): Stamp | null {
  return (rows.find((row) => '_id' in row) as Stamp | undefined) ?? null;
}

export function stampsIn(rows: readonly object[]): Map<string, Stamp> {
  return new Map(rows.flatMap((row) => ('_id' in row ? [[(row as Stamp)._id, row as Stamp]] : [])));
}

export function offsetOf(stamp: Stamp | null): string {
  return stamp?.timezone_offset ?? DEFAULT_OFFSET;
}

/** A body to send. A stream must be read to its end or destroyed. */
export type Body = Buffer | Readable;

export interface Found<B extends Body = Buffer> {
  body: B;
  stamp: Stamp | null;
}
