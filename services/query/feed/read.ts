/** Reads one page of a change feed, and makes its answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '#shared/errors.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { shiftJson } from '#shared/records/stored-json.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import type { FeedHint } from '../read/caches.ts';
import { namesCustomers } from '#shared/read-models/erasures.ts';
import { redacted } from '../read/page.ts';
import type { WithDeadline } from '../deadline.ts';
import { offsetOf } from '../read/snapshot.ts';
import { asShared } from '../responses/compress.ts';
import { type After, type Cursor, encodeCursor, type Start, startAt } from './cursor.ts';
import { FEED_KINDS, type Feed, nameOfKind } from './kinds.ts';
import type {
  ChangeRow,
  ChangesPage,
  Chunk,
  ChunkRequest,
  SharedChanges,
} from './shared-changes.ts';

export interface FeedRequest {
  environment: string;
  storeId: string;
  feed: Feed;
  after: After;
  pageSize: number;
  /** The last positions of the store's kinds, if they are newer than those of the last read. */
  positions?: Stamp['positions'] | undefined;
}

/** A page ends with the record that exceeds it. */
const MAX_PAGE_BYTES = 4 * 1_048_576;

/**
 * The size of one read, by the average record so far: a hundred whole orders. Larger pages are read
 * in chunks, so that memory stays small and other requests get their turn in between.
 */
const CHUNK_BYTES = 192 * 1_024;
/**
 * A quarter of the largest page, and one more: the page needs it to know whether there are more,
 * without a fifth read.
 */
const CHUNK_ROWS = 251;
/** While there are other requests, chunks are so small that these hardly wait (decision 0046). */
const SHARED_CHUNK_BYTES = 32 * 1_024;
/**
 * A pause is twice as long as the read before it: a copy leaves two thirds of the time to others.
 */
const PAUSE_RATIO = 2;
/** For a feed that was not read yet. */
const UNKNOWN: FeedHint = { positions: undefined, bytes: CHUNK_BYTES / 50, density: 0 };

/** A restore during the read changes the start; retry a few times. */
const MAX_ATTEMPTS = 5;

/**
 * Reads the changes after a cursor. Each chunk is one snapshot with the stamp that says what the cursor means. Later chunks end at the
 * position of the first one's stamp: changes made in between have a later position.
 * @param withDeadline bounds each of a page's reads.
 * @param hasOthers whether other requests have arrived since: they get their turn between two reads.
 */
export async function readChanges(
  changes: SharedChanges,
  withDeadline: WithDeadline,
  request: FeedRequest,
  hasOthers: () => boolean,
): Promise<ChangesPage> {
  const { storeId, feed, after, pageSize } = request;
  const hintKey = `${changes.mark}/${storeId}/${feed.name}`;
  const hint = () => changes.hints.get(hintKey) ?? UNKNOWN;
  let began = performance.now();
  const { first, start } = await readFirst();
  if (first.page !== undefined) return first.page;
  const { stamp } = first;
  const end = stamp?.position ?? 0;
  const page = pageBuilder(request, offsetOf(stamp));
  let from = start.lastDelivered;
  for (let chunk = first; ;) {
    page.add(chunk.rows);
    updateHint(chunk);
    from = chunk.reached;
    if (page.more || from >= end) break;
    const mustShare = hasOthers();
    if (mustShare) await sleep((performance.now() - began) * PAUSE_RATIO);
    began = performance.now();
    const kinds = movedKinds(feed, stamp?.positions, from);
    const bytes = mustShare ? SHARED_CHUNK_BYTES : CHUNK_BYTES;
    const limit = Math.min(rowsOfChunk(page.bytes, bytes), pageSize - page.count + 1);
    // After a window with few changes the rest is read at once.
    const isSparse = chunk.rows.length * 2 < limit;
    const upTo = isSparse ? end : Math.min(windowEnd(kinds, from, limit), end);
    chunk = await readChunk({ ...start, lastDelivered: from }, { kinds, limit, upTo });
    if (chunk.stamp?.epochs === stamp?.epochs) continue;
    // With other epochs, positions may mean other changes.
    if (page.count === 0) return readChanges(changes, withDeadline, request, hasOthers);
    page.more = true;
    break;
  }
  const made = finishPage(changes.mark, request, start, stamp, page);
  if (from === first.reached) first.page = made;
  return made;

  /** Reads until the start and the kinds agree with the stamp of the same snapshot. */
  async function readFirst(): Promise<{ first: Chunk; start: Start }> {
    let start = startAt(after, changes.mark);
    const positions = request.positions ?? hint().positions;
    let kinds = movedKinds(feed, positions, start.lastDelivered);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const limit = Math.min(rowsOfChunk(0, CHUNK_BYTES), pageSize + 1);
      const upTo = windowEnd(kinds, start.lastDelivered, limit);
      const first = await readChunk(start, { kinds, limit, upTo });
      const right = startAt(after, changes.mark, first.stamp);
      const moved = movedKinds(feed, first.stamp?.positions, right.lastDelivered);
      const isRight =
        start.lastDelivered === right.lastDelivered &&
        start.skipDeletionsUpTo === right.skipDeletionsUpTo;
      if (isRight && moved.every((kind) => kinds.includes(kind))) return { first, start };
      start = right;
      kinds = moved;
    }
    throw unavailable(
      'the feed positions of the store went back during each read: is a backup being restored?',
    );
  }

  /** Reads a chunk; data of customers who are being erased is left out. */
  async function readChunk(
    start: Start,
    bounds: Pick<ChunkRequest, 'kinds' | 'upTo' | 'limit'>,
  ): Promise<Chunk> {
    const read = (redactErased: boolean) =>
      withDeadline((signal) =>
        changes.readAfter({ storeId, feed, pageSize, redactErased, ...bounds, ...start }, signal),
      );
    const chunk = await read(false);
    return chunk.stamp?.erasing && bounds.kinds.some(namesCustomers) ? read(true) : chunk;
  }

  /** Updates the hint for the next read of the feed. */
  function updateHint({ stamp, rows, reached }: Chunk): void {
    if (stamp === null || from === Infinity) return;
    const before = hint();
    const width = Math.min(reached, stamp.position ?? 0) - from;
    changes.hints.set(hintKey, {
      positions: stamp.positions,
      // Large records may follow small ones.
      bytes: page.count === 0 ? before.bytes : Math.max(page.bytes / page.count, before.bytes / 2),
      density: rows.length === 0 ? before.density : Math.min(rows.length / width, 1),
    });
  }

  function rowsOfChunk(bytesBefore: number, chunkBytes: number): number {
    const bytes = Math.min(chunkBytes, MAX_PAGE_BYTES - bytesBefore);
    return Math.min(Math.max(Math.floor(bytes / hint().bytes), 0) + 1, CHUNK_ROWS);
  }

  /**
   * Where a read of several kinds ends; without an end each kind would bring a whole page. Nearly
   * always enough changes lie before it: it is two standard deviations beyond the average.
   */
  function windowEnd(kinds: Feed['kinds'], from: number, limit: number): number {
    const { density } = hint();
    if (kinds.length <= 1 || density === 0) return Infinity;
    return from + Math.ceil((limit + 2 * Math.sqrt(limit * (1 - density))) / density);
  }
}

/**
 * The kinds of a feed with changes after a position: the others need no read. A single kind is
 * always read.
 */
function movedKinds(
  { kinds }: Feed,
  positions: Stamp['positions'],
  position: number,
): Feed['kinds'] {
  if (position === Infinity) return [];
  if (kinds.length === 1 || positions === undefined) return kinds;
  return kinds.filter((kind) => (positions[kind] ?? 0) > position);
}

/** Collects the entries of a page. */
function pageBuilder({ feed, pageSize }: FeedRequest, offset: string) {
  const parts: Buffer[] = [];
  return {
    count: 0,
    bytes: 0,
    last: 0,
    /** Whether more changes follow. */
    more: false,
    /** Adds changes until it is full. */
    add(rows: readonly ChangeRow[]) {
      for (const row of rows) {
        this.more = this.count >= pageSize || this.bytes >= MAX_PAGE_BYTES;
        if (this.more) break;
        const entry = `${this.count === 0 ? '' : ','}${entryOf(row, feed, offset)}`;
        // One buffer each: a large string would cost the garbage collector more.
        parts.push(Buffer.from(entry, 'latin1'));
        this.count += 1;
        this.bytes += entry.length;
        this.last = row.feed_position;
      }
    },
    /** The body of the answer. */
    body(next: string) {
      const end = `],"timezone_offset":"${offset}","next":"${next}","more":${this.more}}`;
      return Buffer.concat([Buffer.from('{"results":['), ...parts, Buffer.from(end)]);
    },
  };
}

function finishPage(
  generation: string,
  { environment, storeId, feed }: FeedRequest,
  { skipDeletionsUpTo }: Start,
  stamp: Stamp | null,
  page: ReturnType<typeof pageBuilder>,
): ChangesPage {
  const snapshotPosition = stamp?.position ?? 0;
  const next: Cursor = {
    generation,
    epoch: presentEpoch(stamp?.epochs),
    // The last page delivers everything that the snapshot holds.
    lastDelivered: page.more ? page.last : snapshotPosition,
    snapshotPosition,
    skipDeletionsUpTo: Math.min(skipDeletionsUpTo, snapshotPosition),
  };
  const body = asShared(page.body(encodeCursor({ environment, storeId, feed: feed.name }, next)));
  return { isEmpty: page.count === 0, stamp, next, body };
}

/** The start of every record. */
const BEFORE_ID = '{"id":"';

/** Ids need no escaping in JSON. */
function entryOf(row: ChangeRow, { records }: Feed, offset: string): string {
  const { _id, kind, summary, offset: madeFor, erased } = row;
  const beginning = `{"kind":"${nameOfKind(kind)}",`;
  if (madeFor === undefined) {
    return `${beginning}"id":"${_id.slice(_id.lastIndexOf('/') + 1)}","deleted":true,"record":null}`;
  }
  const { parts } = FEED_KINDS[kind];
  const json = records === 'whole' && parts !== undefined ? parts.json(row) : summary;
  const record = shiftJson(redacted(json, erased), madeFor, offset);
  // Taken from the record: reading `_id` too would double the cost of a row.
  const id = record.slice(BEFORE_ID.length, record.indexOf('"', BEFORE_ID.length));
  return `${beginning}"id":"${id}","deleted":false,"record":${record}}`;
}
