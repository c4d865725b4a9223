/** Reads one page of the change feed, and makes its answer. */
import { StoreDataError } from '#shared/errors.ts';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { shiftBody } from '#shared/read-models/local-time.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import { redacted, namesCustomers } from '../read/page.ts';
import type { WithDeadline } from '../deadline.ts';
import { offsetOf } from '../read/snapshot.ts';
import { type Cursor, encodeCursor, startByCursor, type Start, startAt } from './cursor.ts';
import type { ChangeRow, ChangesRead, SharedChanges } from './shared-changes.ts';

export interface FeedRequest {
  environment: string;
  entity: EntityName;
  /** `null` from the beginning. */
  after: Cursor | null;
  pageSize: number;
}

/** A page of changes. */
export interface ChangesPage {
  /** What was read for all who asked for the same. */
  read: ChangesRead;
  rows: readonly ChangeRow[];
  more: boolean;
  stamp: Stamp | null;
  /** Where the next page goes on. */
  next: Cursor;
}

/** A restored database may move what is right to start at; it is not restored so often. */
const ATTEMPTS = 5;

/** Reads the changes after a cursor, in one snapshot with the stamp that says what the cursor means. */
export async function readChanges(
  changes: SharedChanges,
  withDeadline: WithDeadline,
  storeId: string,
  { entity, after, pageSize }: FeedRequest,
): Promise<ChangesPage> {
  const { mark } = changes;
  let start = startByCursor(after, mark);
  let redactErased = false;
  for (let attempt = 1; ; attempt += 1) {
    const request = { storeId, entity, limit: pageSize, redactErased, ...start };
    const read = await withDeadline((signal) => changes.after(request, signal));
    const { stamp } = read;
    if (!redactErased && stamp?.erasing === true && namesCustomers(entity)) {
      redactErased = true;
      continue;
    }
    const right = startAt(after, mark, stamp);
    if (isSame(start, right)) return pageOf(read, start, { generation: mark, pageSize });
    if (attempt >= ATTEMPTS) {
      throw new StoreDataError(
        'environment_unavailable',
        'the positions of the store go back again and again',
      );
    }
    start = right;
  }
}

function isSame(one: Start, other: Start): boolean {
  return one.lastDelivered === other.lastDelivered && one.skipDeletionsUpTo === other.skipDeletionsUpTo;
}

function pageOf(
  read: ChangesRead,
  { skipDeletionsUpTo }: Start,
  { generation, pageSize }: { generation: string; pageSize: number },
): ChangesPage {
  const { rows, stamp } = read;
  const snapshotPosition = stamp?.position ?? 0;
  const shown = rows.slice(0, pageSize);
  const more = rows.length > pageSize;
  return {
    read,
    rows: shown,
    more,
    stamp,
    next: {
      generation,
      epoch: presentEpoch(stamp?.epochs),
      // All that this snapshot holds is told with the last page.
      lastDelivered: more ? (shown.at(-1)?.feed_position ?? 0) : snapshotPosition,
      snapshotPosition,
      skipDeletionsUpTo: Math.min(skipDeletionsUpTo, snapshotPosition),
    },
  };
}

/**
 * The body of an answer: as bytes, which all who share the page are sent as they are. Many follow the same store, and go on from the
 * same place.
 */
export function changesBody(storeId: string, request: FeedRequest, page: ChangesPage): Buffer {
  const { read, rows } = page;
  if (rows.length === 0) return Buffer.from(makeBody(storeId, request, page));
  return (read.body ??= Buffer.from(makeBody(storeId, request, page)));
}

function makeBody(
  storeId: string,
  { environment, entity }: FeedRequest,
  { rows, more, stamp, next }: ChangesPage,
): string {
  const offset = offsetOf(stamp);
  const results = rows.map((row) => changeIn(row, offset)).join(',');
  const cursor = encodeCursor({ environment, storeId, entity }, next);
  return `{"results":[${results}],"timezone_offset":"${offset}","next":"${cursor}","more":${more}}`;
}

/** How every summary begins. */
const BEFORE_ID = '{"id":"';

/** Ids hold nothing that JSON escapes. */
function changeIn({ _id = '', summary, offset: madeFor, erased }: ChangeRow, offset: string): string {
  if (summary === undefined || madeFor === undefined) {
    return `{"id":"${_id.slice(_id.lastIndexOf('/') + 1)}","deleted":true,"record":null}`;
  }
  const record = shiftBody(redacted(summary, erased), madeFor, offset);
  // The summary's own: to read it beside would cost as much as all else of the row.
  const id = record.slice(0, record.indexOf('"', BEFORE_ID.length));
  return `${id}","deleted":false,"record":${record}}`;
}
