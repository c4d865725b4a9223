/** Reads one page of a list that has a rank tree, with its exact count: near the front in one round trip, elsewhere in a few. */
import type { Stamp } from '#shared/read-models/collections.ts';
import { type KeyRange, WHOLE } from '#shared/read-models/rank-tree/keys.ts';
import type { Found } from '../found.ts';
import { readGuessing } from '../guess.ts';
import { countIn, type CountedPage, foundPage, type PageRow, skippedBy, unionWithCount } from '../page.ts';
import { inSnapshot, readSnapshot, stampIn, unionWithStamp, type View } from '../view.ts';
import { readByRank } from './by-rank.ts';
import { readFew } from './few.ts';
import { indexFor, isShallow, matching, pageStages, type RankedRequest } from './request.ts';

/** The page as the envelope of SPEC section 2. */
export async function readRanked(view: View, request: RankedRequest): Promise<Found> {
  const page = await readGuessing(view, async (toInstant, { leafy }) => {
    const range = request.range(toInstant);
    const whole = range.from === '' && range.to === null;
    if (whole && isShallow(request, skippedBy(request))) return readFront(view, request);
    if (leafy?.has(request.tree.name) === false) {
      return readFew((...of) => readSnapshot(view, ...of), view, request, range);
    }
    if (!whole && skippedBy(request) <= request.tree.leafRecords) {
      const page = await readNarrow(view, request, range);
      if (page !== null) return page;
    }
    return inSnapshot(view, (read) => readByRank(read, view, request, range));
  });
  return foundPage(page, request);
}

/** A page of a range so narrow that it is as good walked, in one round trip; `null` where it turns out to be wide. */
async function readNarrow(view: View, request: RankedRequest, range: KeyRange): Promise<CountedPage | null> {
  const { collection, leafRecords } = request.tree;
  const match = matching(view.storeId, request, range);
  const rows = await readSnapshot<PageRow & { count?: number }>(
    view,
    collection,
    [
      ...pageStages(match, request, skippedBy(request)),
      // One more than a narrow range holds tells that it is wide.
      unionWithCount(collection, [match, { $limit: leafRecords + 1 }]),
      unionWithStamp(view),
    ],
    indexFor(request),
  );
  const count = countIn(rows);
  return count > leafRecords ? null : { rows, stamp: stampIn(rows), count };
}

/** A page near the front of all that has the facets: its count lies in the stamp. */
async function readFront(view: View, request: RankedRequest): Promise<CountedPage> {
  const match = matching(view.storeId, request, WHOLE);
  const rows = await readSnapshot<PageRow>(
    view,
    request.tree.collection,
    [...pageStages(match, request, skippedBy(request)), unionWithStamp(view)],
    indexFor(request),
  );
  const stamp = stampIn(rows);
  return { rows, stamp, count: countFromStamp(stamp, request) };
}

function countFromStamp(stamp: Stamp | null, { tree, facets }: RankedRequest): number {
  if (facets === null) return stamp?.counts?.[tree.entity] ?? 0;
  const counts = stamp?.ranks?.[tree.name]?.counts ?? {};
  return facets.reduce((sum, facet) => sum + (counts[facet] ?? 0), 0);
}
