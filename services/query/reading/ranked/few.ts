/** A page of a list so short that its tree has no leaves: as good walked and counted. */
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { type CountedPage, countIn, type PageRow, skippedBy, unionWithCount } from '../page.ts';
import { type ReadShared, stampIn, unionWithStamp, type View } from '../view.ts';
import { indexFor, matching, pageStages, type RankedRequest } from './request.ts';

/** Reads a page within a range of keys. */
export async function readFew(
  read: ReadShared,
  view: View,
  request: RankedRequest,
  range: KeyRange,
): Promise<CountedPage> {
  const { collection } = request.tree;
  const match = matching(view.storeId, request, range);
  const rows = await read<PageRow & { count?: number }>(
    collection,
    [
      ...pageStages(match, request, skippedBy(request)),
      unionWithCount(collection, [match]),
      unionWithStamp(view),
    ],
    indexFor(request),
  );
  return { rows, stamp: stampIn(rows), count: countIn(rows) };
}
