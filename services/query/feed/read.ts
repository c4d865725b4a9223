/** Reads one page of a change feed, and makes its answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#shared/errors.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { shiftJson } from '#shared/read-models/local-time.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import type { FeedHint } from '../read/caches.ts';
import { redacted, namesCustomers } from '../read/page.ts';
import type { WithDeadline } from '../deadline.ts';
import { offsetOf } from '../read/snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { type After, type Cursor, encodeCursor, type Start, startAt } from './cursor.ts';
import { FEED_KINDS, type Feed, nameOfKind } from './kinds.ts';
import type { ChangeRow, ChangesPage, Chunk, ChunkRequest, SharedChanges } from './shared-changes.ts';

export interface FeedRequest {
  environment: string;
  storeId: string;
  feed: Feed;
  after: After;
  pageSize: number;
  /** The last positions of the store's kinds, where they are known better than from the last read. */
  positions?: Stamp['positions'] | undefined;
}

/** A page ends with the record that passes it. */
const MAX_PAGE_BYTES = 4 * 1_048_576;

/**
 * How much one read asks for, by what records of the feed were large so far: larger pages are read in chunks, so that neither MongoDB nor
 * this process has much of it at once, and other requests have their turn in between.
 */
const CHUNK_BYTES = 128 * 1_024;
/** A quarter of the largest page and one more, by which a page knows that there are more: a fifth read would bring that one alone. */
const CHUNK_ROWS = 251;
/** Beside other requests chunks are so small that waiting for one is not felt (decision 0046). */
const CHUNK_BYTES_BESIDE_OTHERS = 32 * 1_024;
/** By how much a pause is longer than the read before it: whoever copies a store leaves others two thirds of the time at least. */
const PAUSE = 2;
/** Of a feed of which nothing was seen yet. */
const UNKNOWN: FeedHint = { positions: undefined, bytes: CHUNK_BYTES / 50, density: 0 };

/** A restored database may move what is right to start at; it is not restored so often. */
const ATTEMPTS = 5;

/** What of a feed is to be read. */
interface Wanted {
  changes: SharedChanges;
  request: FeedRequest;
  /** Bounds each read by itself: a page may need many. */
  withDeadline: WithDeadline;
  hintKey: string;
}

/**
 * Reads the changes after a cursor. Each chunk is of one snapshot with the stamp that says what the cursor means. Those after the first are
 * read up to the position of the first one's stamp: what changes in between has a later one.
 * @param hasOthers whether other requests have come since: they have their turn between two reads.
 */
export async function readChanges(
  changes: SharedChanges,
  withDeadline: WithDeadline,
  request: FeedRequest,
  hasOthers: () => boolean,
): Promise<ChangesPage> {
  const hintKey = `${changes.mark}/${request.storeId}/${request.feed.name}`;
  const wanted: Wanted = { changes, request, withDeadline, hintKey };
  let began = performance.now();
  const { first, start } = await readFirst(wanted);
  if (first.page !== undefined) return first.page;
  const { stamp } = first;
  const end = stamp?.position ?? 0;
  const page = new PageOf(request, offsetOf(stamp));
  let from = start.lastDelivered;
  for (let chunk = first; ;) {
    page.add(chunk.rows);
    note(wanted, page, chunk, from);
    from = chunk.reached;
    if (page.more || from >= end) break;
    const isBesideOthers = hasOthers();
    if (isBesideOthers) await sleep((performance.now() - began) * PAUSE);
    began = performance.now();
    const kinds = movedKinds(request.feed, stamp?.positions, from);
    const bytes = isBesideOthers ? CHUNK_BYTES_BESIDE_OTHERS : CHUNK_BYTES;
    const limit = Math.min(rowsOfChunk(wanted, page.bytes, bytes), request.pageSize - page.count + 1);
    // Where few were found in a window, the rest is not looked for in windows.
    const isSparse = chunk.rows.length * 2 < limit;
    const upTo = isSparse ? end : Math.min(windowEnd(wanted, kinds, from, limit), end);
    chunk = await readChunk(wanted, { ...start, lastDelivered: from }, { kinds, limit, upTo });
    if (chunk.stamp?.epochs === stamp?.epochs) continue;
    // Its positions may mean other changes.
    if (page.count === 0) return readChanges(changes, withDeadline, request, hasOthers);
    page.more = true;
    break;
  }
  const made = pageOf(wanted, start, stamp, page);
  if (from === first.reached) first.page = made;
  return made;
}

/** Reads until the start and the kinds are right by the stamp of the snapshot that is read. */
async function readFirst(wanted: Wanted): Promise<{ first: Chunk; start: Start }> {
  const { changes, request } = wanted;
  const { feed, after, pageSize } = request;
  let start = startAt(after, changes.mark);
  const positions = request.positions ?? hintOf(wanted).positions;
  let kinds = movedKinds(feed, positions, start.lastDelivered);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const limit = Math.min(rowsOfChunk(wanted, 0, CHUNK_BYTES), pageSize + 1);
    const upTo = windowEnd(wanted, kinds, start.lastDelivered, limit);
    const first = await readChunk(wanted, start, { kinds, limit, upTo });
    const right = startAt(after, changes.mark, first.stamp);
    const moved = movedKinds(feed, first.stamp?.positions, right.lastDelivered);
    if (isSame(start, right) && moved.every((kind) => kinds.includes(kind))) return { first, start };
    start = right;
    kinds = moved;
  }
  throw unavailable('the positions of the store go back again and again');
}

function isSame(one: Start, other: Start): boolean {
  return one.lastDelivered === other.lastDelivered && one.skipDeletionsUpTo === other.skipDeletionsUpTo;
}

/** Reads a chunk, without the data of customers who are being erased. */
async function readChunk(
  { changes, request: { storeId, feed, pageSize }, withDeadline }: Wanted,
  start: Start,
  bounds: Pick<ChunkRequest, 'kinds' | 'upTo' | 'limit'>,
): Promise<Chunk> {
  const read = (redactErased: boolean) =>
    withDeadline((signal) => changes.after({ storeId, feed, pageSize, redactErased, ...bounds, ...start }, signal));
  const chunk = await read(false);
  return chunk.stamp?.erasing === true && bounds.kinds.some(namesCustomers) ? read(true) : chunk;
}

/** The kinds of a feed that have changes behind a position: the others need not be read. Of one kind it is always read. */
function movedKinds({ kinds }: Feed, positions: Stamp['positions'], position: number): Feed['kinds'] {
  if (position === Infinity) return [];
  if (kinds.length === 1 || positions === undefined) return kinds;
  return kinds.filter((kind) => (positions[kind] ?? 0) > position);
}

function hintOf({ changes, hintKey }: Wanted): FeedHint {
  return changes.hints.get(hintKey) ?? UNKNOWN;
}

/** Notes what a chunk says of the feed. */
function note(wanted: Wanted, page: PageOf, { stamp, rows, reached }: Chunk, from: number): void {
  if (stamp === null || from === Infinity) return;
  const before = hintOf(wanted);
  const width = Math.min(reached, stamp.position ?? 0) - from;
  wanted.changes.hints.set(wanted.hintKey, {
    positions: stamp.positions,
    // Small ones may be followed by large ones.
    bytes: page.count === 0 ? before.bytes : Math.max(page.bytes / page.count, before.bytes / 2),
    density: rows.length === 0 ? before.density : Math.min(rows.length / width, 1),
  });
}

function rowsOfChunk(wanted: Wanted, bytesBefore: number, chunkBytes: number): number {
  const bytes = Math.min(chunkBytes, MAX_PAGE_BYTES - bytesBefore);
  return Math.min(Math.max(Math.floor(bytes / hintOf(wanted).bytes), 0) + 1, CHUNK_ROWS);
}

/**
 * Several kinds are read up to where as many changes as are asked for nearly always lie, or each would bring as many: two standard
 * deviations beyond where they lie on average.
 */
function windowEnd(wanted: Wanted, kinds: Feed['kinds'], from: number, limit: number): number {
  const { density } = hintOf(wanted);
  if (kinds.length <= 1 || density === 0) return Infinity;
  return from + Math.ceil((limit + 2 * Math.sqrt(limit * (1 - density))) / density);
}

/** The entries of a page, as they are added. */
class PageOf {
  readonly #request: FeedRequest;
  readonly #offset: string;
  readonly #parts: Buffer[] = [];
  count = 0;
  bytes = 0;
  last = 0;
  /** Whether there are changes behind it. */
  more = false;

  constructor(request: FeedRequest, offset: string) {
    this.#request = request;
    this.#offset = offset;
  }

  /** Adds changes until it is full. */
  add(rows: readonly ChangeRow[]): void {
    const { feed, pageSize } = this.#request;
    for (const row of rows) {
      this.more = this.count >= pageSize || this.bytes >= MAX_PAGE_BYTES;
      if (this.more) break;
      const entry = `${this.count === 0 ? '' : ','}${entryOf(row, feed, this.#offset)}`;
      // Each by itself: for a large string the garbage collector would look through everything.
      this.#parts.push(Buffer.from(entry, 'latin1'));
      this.count += 1;
      this.bytes += entry.length;
      this.last = row.feed_position;
    }
  }

  /** The body of the answer. */
  body(next: string): Buffer {
    const end = `],"timezone_offset":"${this.#offset}","next":"${next}","more":${this.more}}`;
    return Buffer.concat([Buffer.from('{"results":['), ...this.#parts, Buffer.from(end)]);
  }
}

function pageOf(
  { changes, request }: Wanted,
  { skipDeletionsUpTo }: Start,
  stamp: Stamp | null,
  page: PageOf,
): ChangesPage {
  const snapshotPosition = stamp?.position ?? 0;
  const next: Cursor = {
    generation: changes.mark,
    epoch: presentEpoch(stamp?.epochs),
    // All that this snapshot holds is told with the last page.
    lastDelivered: page.more ? page.last : snapshotPosition,
    snapshotPosition,
    skipDeletionsUpTo: Math.min(skipDeletionsUpTo, snapshotPosition),
  };
  const { environment, storeId, feed } = request;
  const body = asShared(page.body(encodeCursor({ environment, storeId, feed: feed.name }, next)));
  return { isEmpty: page.count === 0, stamp, next, body };
}

/** How every record begins. */
const BEFORE_ID = '{"id":"';

/** Ids hold nothing that JSON escapes. */
function entryOf(row: ChangeRow, { records }: Feed, offset: string): string {
  const { _id, kind, summary, offset: madeFor, erased } = row;
  const beginning = `{"kind":"${nameOfKind(kind)}",`;
  if (madeFor === undefined) {
    return `${beginning}"id":"${_id.slice(_id.lastIndexOf('/') + 1)}","deleted":true,"record":null}`;
  }
  const { parts } = FEED_KINDS[kind];
  const json = records === 'whole' && parts !== undefined ? parts.json(row) : summary;
  const record = shiftJson(redacted(json, erased), madeFor, offset);
  // The record's own: to read it beside would cost as much as all else of the row.
  const id = record.slice(BEFORE_ID.length, record.indexOf('"', BEFORE_ID.length));
  return `${beginning}"id":"${id}","deleted":false,"record":${record}}`;
}
