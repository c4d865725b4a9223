/**
 * Reads of changes from one generation: requests share them, whatever stores and feeds they are for. One aggregate brings for each
 * request the stamp of its store with the records and the deletions after its start, all in one snapshot, at the same cost at any
 * depth.
 */
import type { Document } from 'mongodb';
import { isDocumentTooLarge } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { COLLECTIONS, documentId, type Stamp, STAMPS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { type BatchLimits, batched, type ReadOne } from '../batched.ts';
import type { Caches } from '../read/caches.ts';
import { namesCustomers, redactedFields } from '../read/page.ts';
import { readSnapshot, type Source } from '../read/snapshot.ts';
import { type Cursor, generationMark, type Start } from './cursor.ts';
import { FEED_KINDS, type Feed } from './kinds.ts';

/** A record that changed, or a deletion: that has no `offset`, and a tombstone's `_id`. */
export interface ChangeRow {
  _id: string;
  kind: EntityName;
  feed_position: number;
  summary: string;
  /** Of a record; which other fields it has says its kind. */
  offset?: string;
  /** Whether the customer whom it names is being erased. */
  erased?: boolean;
}

/** A page of changes. */
export interface ChangesPage {
  isEmpty: boolean;
  stamp: Stamp | null;
  /** Where the next page goes on. */
  next: Cursor;
  /** The answer, as bytes that all who share the page are sent: many follow the same store, and go on from the same place. */
  body: Buffer;
}

/** Consecutive changes, and the store's stamp in the same snapshot. */
export interface Chunk {
  /** All changes after the start up to `reached`, in the order of their positions. */
  rows: readonly ChangeRow[];
  reached: number;
  /** `null` while nothing of the store has arrived. */
  stamp: Stamp | null;
  /** The page that begins with it, once it was made: requests that share the read share it. */
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
  /** Of the page that it is for. */
  pageSize: number;
  /** Whether records are read together with the erasures that are under way. */
  redactErased: boolean;
}

/** What is read for one request. */
type Row = Stamp & {
  /** The request's number, where there are several. */
  request?: number;
  read?: { [E in EntityName]?: ChangeRow[] } & { deletions?: ChangeRow[] };
};

const LIMITS: BatchLimits = { underWay: 4, ids: 16 };
/** By how much less is asked for where it was too much for one document. */
const LESS = 4;

export class SharedChanges {
  /** How cursors name the generation. */
  readonly mark: string;
  readonly hints: Caches['feeds'];
  readonly #source: Source;
  readonly #read: ReadOne<Chunk>;

  /** @param source ends a read that the server keeps; requests that wait for it have deadlines of their own. */
  constructor(source: Source, { feeds }: Caches) {
    this.hints = feeds;
    this.mark = generationMark(source.generation.marker.id);
    this.#source = source;
    this.#read = batched(async (keys) => {
      const chunks = await this.#readMany(keys.map(requestOf));
      return new Map(keys.flatMap((key, number) => (chunks[number] ? [[key, chunks[number]]] : [])));
    }, LIMITS);
  }

  /** The changes after a start. `signal` as of `ReadOne`. */
  async after(request: ChunkRequest, signal: AbortSignal): Promise<Chunk> {
    const found = await this.#read(keyOf(request), signal);
    return found ?? { rows: [], reached: request.upTo, stamp: null };
  }

  /** @returns for each request its chunk; none where nothing of the store has arrived. */
  async #readMany(requests: readonly ChunkRequest[]): Promise<(Chunk | undefined)[]> {
    try {
      return await this.#readTogether(requests);
    } catch (error) {
      if (!isDocumentTooLarge(error)) throw error;
      if (requests.every(({ limit }) => limit === 1)) throw error;
      // Each by itself, or one with large records would make all smaller.
      const chunks = requests.map((request) =>
        this.#readMany([requests.length > 1 ? request : { ...request, limit: Math.ceil(request.limit / LESS) }]),
      );
      return (await Promise.all(chunks)).map(([chunk]) => chunk);
    }
  }

  async #readTogether(requests: readonly ChunkRequest[]): Promise<(Chunk | undefined)[]> {
    const [first = [], ...others] = requests.map((request, number) =>
      stagesOf(request, requests.length > 1 ? [{ $set: { request: { $literal: number } } }] : []),
    );
    const pipeline = [...first, ...others.map((stages) => ({ $unionWith: { coll: STAMPS, pipeline: stages } }))];
    const chunks: (Chunk | undefined)[] = [];
    for (const { request = 0, read = {}, ...stamp } of await readSnapshot<Row>(this.#source, STAMPS, pipeline)) {
      const asked = requests[request];
      if (asked !== undefined) chunks[request] = { ...chunkOf(asked, read), stamp };
    }
    return chunks;
  }
}

/** Stages that bring what one request is for. As arrays of one document: rows of their own cost the driver half as much again. */
function stagesOf(request: ChunkRequest, tag: Document[]): Document[] {
  const { storeId, kinds, lastDelivered, skipDeletionsUpTo, upTo, limit } = request;
  const page = (match: Document, after: number): Document[] => [
    { $match: { store_id: storeId, ...match, feed_position: positionsAfter(after, upTo) } },
    { $sort: { feed_position: 1 } },
    { $limit: limit },
  ];
  const after = Math.max(lastDelivered, skipDeletionsUpTo);
  // Nothing lies behind the place where the store stands now.
  const hasDeletions = kinds.length > 0 && after < upTo;
  const [only] = kinds;
  const entity = kinds.length === 1 && only !== undefined ? only : { $in: kinds };
  return [
    { $match: { _id: storeId } },
    ...tag,
    ...(hasDeletions
      ? [lookup(TOMBSTONES, [...page({ entity }, after), { $project: { feed_position: 1 } }], 'deletions')]
      : []),
    ...kinds.map((kind) => {
      // Of stores' own records there is no index by position.
      const itself = kind === 'store' ? { _id: documentId(storeId, storeId) } : {};
      return lookup(COLLECTIONS[kind], [...page(itself, lastDelivered), ...shownOf(kind, request)], kind);
    }),
  ];
}

function lookup(from: string, pipeline: Document[], name: string): Document {
  return { $lookup: { from, pipeline, as: `read.${name}` } };
}

function positionsAfter(after: number, upTo: number): Document {
  return upTo === Infinity ? { $gt: after } : { $gt: after, $lte: upTo };
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
  return redactErased && namesCustomers(kind) ? redactedFields(shown) : [{ $project: shown }];
}

/** What was read, in the order of the positions, as far as all of it is there. */
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
  const all = more.length === 0 ? only : lists.flat().sort((a, b) => a.feed_position - b.feed_position);
  let reached = upTo;
  // A list that is full may have more behind its last.
  for (const list of lists) {
    const last = list.length < limit ? undefined : list.at(-1);
    if (last !== undefined) reached = Math.min(reached, last.feed_position);
  }
  const rows = more.length === 0 ? all : all.filter(({ feed_position }) => feed_position <= reached);
  return { rows, reached };
}

/** Requests for the same are one. In JSON infinity is `null`. */
function keyOf(request: ChunkRequest): string {
  return JSON.stringify(request);
}

function requestOf(key: string): ChunkRequest {
  return JSON.parse(key, (_name, value: unknown) => (value === null ? Infinity : value)) as ChunkRequest;
}
