/**
 * Reads what was updated, or created, in a window of time, in an order that is not of time. Integrations ask for the last few
 * minutes, so the window is found by its own index and sorted; only where it turns out to be wide, the list is walked in
 * its order instead.
 */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Found } from './found.ts';
import { readGuessing } from './guess.ts';
import { type ListRequest, readList } from './list.ts';
import { countIn, foundPage, pageFields, type PageRow, skippedBy, unionWithCount } from './page.ts';
import { readSnapshot, type View } from './view.ts';
import { stampIn, unionWithStamp } from './stamp.ts';

/** A window with more records is wide. */
const NARROW = 2_000;

export interface WindowOptions {
  /** How many records a narrow window has at most. */
  narrow?: number;
  /** How a wide one is read; by walking if it is not said. */
  readWide?: () => Promise<Found>;
}

/**
 * The page as the envelope of rule R6.1.
 * @param index the one that the request's filter bounds the window by.
 */
export async function readWindow(
  view: View,
  request: ListRequest,
  index: 'by_updated' | 'by_created',
  { narrow = NARROW, readWide = () => readList(view, request) }: WindowOptions = {},
): Promise<Found> {
  const collection = COLLECTIONS[request.entity];
  const page = await readGuessing(view, async (toInstant) => {
    // One more than a narrow window holds tells that it is wide.
    const narrowed = [
      { $match: { store_id: view.storeId, ...request.filter(toInstant) } },
      { $limit: narrow + 1 },
    ];
    const rows = await readSnapshot<PageRow & { count?: number }>(
      view,
      collection,
      [
        ...narrowed,
        ...(request.arrange ?? []),
        { $sort: request.sort },
        { $skip: skippedBy(request) },
        { $limit: request.pageSize },
        ...pageFields(view, request.entity),
        unionWithCount(collection, narrowed),
        unionWithStamp(view),
      ],
      index,
    );
    return { rows, stamp: stampIn(rows), count: countIn(rows) };
  });
  return page.count > narrow ? readWide() : foundPage(page, request);
}
