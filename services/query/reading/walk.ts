/** Reads a page by walking the list in its order, or by sorting what a window holds, in one round trip with its count and the store's stamp. */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Stamp } from '#shared/read-models/collections.ts';
import type { ListRequest, Sort } from './list-request.ts';
import { type CountedPage, pageOf, type PageRequest, type PageRow, skippedBy } from './page.ts';
import { type ReadInSnapshot, readSnapshot } from './snapshot.ts';
import { stampIn, unionWithStamp } from './stamp.ts';
import type { View } from './shared-reads.ts';

export interface Walk extends PageRequest {
  entity: EntityName;
  match: Document;
  sort: Sort;
  /** The index to read by, where MongoDB shall not choose. */
  index?: string;
  /** How many match: what the stamp says, or counted, at most so many. */
  count: ((stamp: Stamp | null) => number) | { atMost: number };
  /** Where the index is not in the order of the list: stages between what is counted and the sort. */
  unsorted?: Document[];
}

/** @param read the snapshot that it is a part of; one of its own if it is not given. */
export async function walk(
  view: View,
  { entity, match, sort, index, count, unsorted, ...page }: Walk,
  read: ReadInSnapshot = (...of) => readSnapshot(view, ...of),
): Promise<CountedPage> {
  const collection = COLLECTIONS[entity];
  const matching: Document[] = [{ $match: match }];
  const counted =
    typeof count !== 'function' && Number.isFinite(count.atMost)
      ? [...matching, { $limit: count.atMost }]
      : matching;
  const rows = await read<PageRow & { count?: number }>(
    collection,
    [
      ...(unsorted === undefined ? matching : [...counted, ...unsorted]),
      ...pageOf(view, entity, sort, skippedBy(page), page.pageSize),
      ...(typeof count === 'function'
        ? []
        : [{ $unionWith: { coll: collection, pipeline: [...counted, { $count: 'count' }] } }]),
      unionWithStamp(view),
    ],
    index,
  );
  const stamp = stampIn(rows);
  // A count of nothing is no row.
  const found = rows.find((row) => row.count !== undefined)?.count ?? 0;
  return { rows, stamp, count: typeof count === 'function' ? count(stamp) : found };
}

/** However many. */
export const ALL = { atMost: Number.POSITIVE_INFINITY };

/** The same where few match. @returns `null` where more do than `narrow`: one more tells. */
export async function walkNarrow(
  view: View,
  narrow: number,
  asked: Omit<Walk, 'count'>,
): Promise<CountedPage | null> {
  const found = await walk(view, { ...asked, count: { atMost: narrow + 1 } });
  return found.count > narrow ? null : found;
}

/** A window with more records is wide. */
const NARROW = 2_000;

/**
 * What was updated, or created, in a window of time, in an order that is not of time. Integrations ask for the last few minutes, so
 * the window is found by its own index and sorted.
 * @returns `null` for a wide window. @param index the one that bounds the window.
 */
export async function sortWindow(
  view: View,
  request: ListRequest,
  match: Document,
  index: 'by_updated' | 'by_created',
  narrow = NARROW,
): Promise<CountedPage | null> {
  return walkNarrow(view, narrow, { ...request, match, index, unsorted: request.arrange });
}
