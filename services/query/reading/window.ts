/**
 * Reads what was updated, or created, in a window of time, in an order that is not of time. Integrations ask for the last few
 * minutes, so the window is found by its own index and sorted.
 */
import type { Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { ListRequest } from './list-request.ts';
import { type CountedPage, countIn, pageFields, type PageRow, skippedBy, unionWithCount } from './page.ts';
import { stampIn, unionWithStamp } from './stamp.ts';
import { readSnapshot, type View } from './view.ts';

/** A window with more records is wide. */
const NARROW = 2_000;

/** @returns `null` for a wide window. @param index the one that bounds the window. */
export async function sortWindow(
  view: View,
  request: ListRequest,
  match: Document,
  index: 'by_updated' | 'by_created',
  narrow = NARROW,
): Promise<CountedPage | null> {
  const collection = COLLECTIONS[request.entity];
  // One more than a narrow window holds tells that it is wide.
  const narrowed = [{ $match: match }, { $limit: narrow + 1 }];
  const rows = await readSnapshot<PageRow & { count?: number }>(
    view,
    collection,
    [
      ...narrowed,
      ...request.arrange,
      { $sort: request.sort },
      { $skip: skippedBy(request) },
      { $limit: request.pageSize },
      ...pageFields(view, request.entity),
      unionWithCount(collection, narrowed),
      unionWithStamp(view),
    ],
    index,
  );
  const count = countIn(rows);
  return count > narrow ? null : { rows, stamp: stampIn(rows), count };
}
