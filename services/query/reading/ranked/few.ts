/** A page of few records: as good walked and counted as looked up, in one round trip. */
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, countIn, type PageRow, skippedBy, unionWithCount } from '../page.ts';
import { type View } from '../view.ts';
import { stampIn, unionWithStamp } from '../stamp.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { indexFor, matching, pageStages, type RankedRequest } from './request.ts';

/** Reads a page within a range of keys of a list so short that its tree has no leaves. */
export async function readFew(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  range: KeyRange,
): Promise<CountedPage> {
  return walk(read, view, request, range, []);
}

/** Reads a page of a range that no leaf is needed for; `null` where it turns out to hold more records than one. */
export async function readNarrow(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  range: KeyRange,
): Promise<CountedPage | null> {
  const most = request.tree.leafRecords;
  // One more than that tells that it is wide.
  const page = await walk(read, view, request, range, [{ $limit: most + 1 }]);
  return page.count > most ? null : page;
}

/** @param counted what is done with the matching records before they are counted. */
async function walk(
  read: ReadInSnapshot,
  view: View,
  request: RankedRequest,
  range: KeyRange,
  counted: { $limit: number }[],
): Promise<CountedPage> {
  const { collection } = request.tree;
  const match = matching(view.storeId, request, range);
  const rows = await read<PageRow & { count?: number }>(
    collection,
    [
      ...pageStages(view, match, request, skippedBy(request)),
      unionWithCount(collection, [match, ...counted]),
      unionWithStamp(view),
    ],
    indexFor(request),
  );
  return { rows, stamp: stampIn(rows), count: countIn(rows) };
}
