/**
 * Reads changes of one generation, for requests of all stores and feeds together. For each request
 * one aggregate brings the stamp of its store, and the records and deletions after its start, in
 * one snapshot. The cost is the same at any depth.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import {
  COLLECTIONS,
  documentId,
  type Stamp,
  STAMPS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { type BatchLimits, batched } from '../batched.ts';
import type { Caches } from '../read/caches.ts';
import { projected } from '../read/page.ts';
import {
  isTooLarge,
  proveGeneration,
  readSnapshot,
  type Source,
  unionOf,
} from '../read/snapshot.ts';
import { type Cursor, generationMark, type Start } from './cursor.ts';
import { FEED_KINDS, type Feed } from './kinds.ts';

/** A changed record, or a deletion: it has no `offset`, and the tombstone's `_id`. */
export interface ChangeRow {
  _id: string;
  kind: EntityName;
  feed_position: number;
  summary: string;
  /** Of a record. Its other fields depend on its kind. */
  offset?: string;
  /** The customer whom it names is being erased. */
  erased?: boolean;
}

export interface ChangesPage {
  isEmpty: boolean;
  stamp: Stamp | null;
  /** Where the next page starts. */
  next: Cursor;
  /** The answer; shared, since many clients follow the same store from the same position. */
  body: Buffer;
}

/** Consecutive changes, and the store's stamp in the same snapshot. */
export interface Chunk {
  /** All changes after the start up to `reached`, by position. */
  rows: readonly ChangeRow[];
  reached: number;
  /** `null` before the store's first event. */
  stamp: Stamp | null;
  /** The page that starts with this chunk; requests that share the read share it. */
  page?: ChangesPage;
}

export interface ChunkRequest extends Start {
  storeId: string;
  feed: Feed;
  /** The kinds of the feed that are read. */
  kinds: readonly EntityName[];
  /** Changes up to this position. */
  upTo: number;
  /** How many changes at most. */
  limit: number;
  /** Of the page. */
  pageSize: number;
  /** Whether to read erasures that are under way too, and leave out their customers' data. */
  redactErased: boolean;
}

/** The rows of one request. */
type Row = Stamp & {
  /** The request's number, if there are several. */
  request?: number;
  read?: { [E in EntityName]?: ChangeRow[] } & { deletions?: ChangeRow[] };
};

const LIMITS: BatchLimits = { underWay: 4, requests: 16 };
/** A read that exceeds one document is tried again with a fraction of the limit. */
const LIMIT_DIVISOR = 4;
/** If no more fit into a read, records are so large that none is read for nothing. */
const FEW = 5;

export type SharedChanges = ReturnType<typeof sharedChanges>;

/** @param source bounds each shared read; the requests have deadlines of their own. */
export function sharedChanges(source: Source, { feeds: hints }: Caches) {
  const read = batched(readMany, LIMITS, JSON.stringify);

  /** The changes after a start. `signal` as of `ReadOne`. */
  async function readAfter(request: ChunkRequest, signal: AbortSignal): Promise<Chunk> {
    const found = await read(request, signal);
    if (found !== null) return found;
    await proveGeneration(source);
    return { rows: [], reached: request.upTo, stamp: null };
  }

  /** @returns each request's chunk; `undefined` before its store's first event. */
  async function readMany(requests: readonly ChunkRequest[]): Promise<(Chunk | undefined)[]> {
    try {
      return await readOnce(
        await Promise.all(
          // A small page has a low limit too, which says nothing about its records.
          requests.map(async (request) =>
            request.limit <= Math.min(FEW, request.pageSize) ? narrowed(request) : request,
          ),
        ),
      );
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      const [only] = requests;
      if (requests.length === 1 && only?.limit === 1) throw error;
      // Separately, so that only the request with large records gets fewer.
      const chunks = requests.map(async (request) => {
        if (requests.length > 1) return readMany([request]);
        const limit = Math.ceil(request.limit / LIMIT_DIVISOR);
        return readMany([await narrowed({ ...request, limit })]);
      });
      return (await Promise.all(chunks)).map(([chunk]) => chunk);
    }
  }

  /**
   * Ends a read of several kinds with its last change: otherwise each kind would bring as many as
   * the limit, and most would be read again. Finds it in the indexes.
   */
  async function narrowed(request: ChunkRequest): Promise<ChunkRequest> {
    if (request.kinds.length < 2) return request;
    const stages = stagesOf(request, [], () => [{ $project: { _id: 0, feed_position: 1 } }]);
    const [found] = await readSnapshot<Row>(source, STAMPS, stages);
    const { rows, reached } = chunkOf(request, found?.read ?? {});
    return { ...request, upTo: rows[request.limit - 1]?.feed_position ?? reached };
  }

  async function readOnce(requests: readonly ChunkRequest[]): Promise<(Chunk | undefined)[]> {
    const stages = requests.map((request, number) =>
      stagesOf(request, requests.length > 1 ? [{ $set: { request: { $literal: number } } }] : []),
    );
    const chunks: (Chunk | undefined)[] = [];
    for (const { request = 0, read = {}, ...stamp } of await readSnapshot<Row>(
      source,
      STAMPS,
      unionOf(STAMPS, stages),
    )) {
      const asked = requests[request];
      if (asked !== undefined) chunks[request] = { ...chunkOf(asked, read), stamp };
    }
    return chunks;
  }

  /** `mark` is the generation's name in cursors. */
  return { mark: generationMark(source.generation.marker.id), hints, readAfter };
}

/**
 * The stages of one request. Rows come as arrays in one document: separate rows would take 1.5
 * times as long.
 */
function stagesOf(
  request: ChunkRequest,
  tag: Document[],
  shown: typeof shownOf = shownOf,
): Document[] {
  const { storeId, kinds, lastDelivered, skipDeletionsUpTo, upTo, limit } = request;
  const end = upTo === Infinity ? {} : { $lte: upTo };
  const page = (match: Document, after: number): Document[] => [
    { $match: { store_id: storeId, ...match, feed_position: { $gt: after, ...end } } },
    { $sort: { feed_position: 1 } },
    { $limit: limit },
  ];
  const after = Math.max(lastDelivered, skipDeletionsUpTo);
  // `Infinity` is the store's present position: nothing follows it.
  const hasDeletions = kinds.length > 0 && after < upTo;
  const [only] = kinds;
  const entity = kinds.length === 1 && only !== undefined ? only : { $in: kinds };
  return [
    { $match: { _id: storeId } },
    ...tag,
    ...(hasDeletions
      ? [
          lookup(
            TOMBSTONES,
            [...page({ entity }, after), { $project: { feed_position: 1 } }],
            'deletions',
          ),
        ]
      : []),
    ...kinds.map((kind) => {
      // The collection of stores' own records has no index by position.
      const itself = kind === 'store' ? { _id: documentId(storeId, storeId) } : {};
      return lookup(
        COLLECTIONS[kind],
        [...page(itself, lastDelivered), ...shown(kind, request)],
        kind,
      );
    }),
  ];
}

function lookup(from: string, pipeline: Document[], name: string): Document {
  return { $lookup: { from, pipeline, as: `read.${name}` } };
}

function shownOf(kind: EntityName, { feed, redactErased }: ChunkRequest): Document[] {
  const { parts } = FEED_KINDS[kind];
  const fields = feed.records === 'whole' && parts !== undefined ? parts.fields : ['summary'];
  const shown = {
    _id: 0,
    feed_position: 1,
    offset: 1,
    ...Object.fromEntries(fields.map((field) => [field, 1])),
  };
  return projected(shown, kind, redactErased);
}

/** Merges the lists by position, up to the position at which all of them are complete. */
function chunkOf(
  { kinds, limit, upTo }: ChunkRequest,
  { deletions = [], ...records }: Row['read'] & object,
): Pick<Chunk, 'rows' | 'reached'> {
  for (const row of deletions) row.kind = row._id.slice(0, row._id.indexOf('/')) as EntityName;
  const lists = [deletions];
  for (const kind of kinds) {
    const rows = records[kind] ?? [];
    for (const row of rows) row.kind = kind;
    lists.push(rows);
  }
  const [only = [], ...more] = lists.filter(({ length }) => length > 0);
  const all =
    more.length === 0 ? only : lists.flat().sort((a, b) => a.feed_position - b.feed_position);
  let reached = upTo;
  // A full list may continue after its last row.
  for (const list of lists) {
    const last = list.length < limit ? undefined : list.at(-1);
    if (last !== undefined) reached = Math.min(reached, last.feed_position);
  }
  const rows =
    more.length === 0 ? all : all.filter(({ feed_position }) => feed_position <= reached);
  return { rows, reached };
}
