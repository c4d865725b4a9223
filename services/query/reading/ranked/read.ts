/** Reads one page of a list that has a rank tree, with its exact count: near the front in one round trip, elsewhere in a few. */
import { WHOLE } from '#shared/read-models/rank-tree/keys.ts';
import type { Found } from '../found.ts';
import { readGuessing } from '../guess.ts';
import { type CountedPage, foundPage, type PageRow, skippedBy } from '../page.ts';
import { inSnapshot, readSnapshot, type View } from '../view.ts';
import { stampIn, unionWithStamp } from '../stamp.ts';
import type { ReadInSnapshot } from '../snapshot.ts';
import { readWhole } from '../whole.ts';
import { guess, guessedCount, readByRank } from './by-rank.ts';
import { readFew, readNarrow } from './few.ts';
import { countFromStamp, indexFor, isShallow, matching, pageStages, type RankedRequest } from './request.ts';

/** The page as the envelope of rule R6.1. */
export async function readRanked(view: View, request: RankedRequest): Promise<Found> {
  const read: ReadInSnapshot = (...of) => readSnapshot(view, ...of);
  const page = await readGuessing(view, async (toInstant, { leafy }) => {
    const range = request.range(toInstant);
    const whole = range.from === '' && range.to === null;
    if (whole && isShallow(request, skippedBy(request))) return readFront(view, request);
    if (leafy?.has(request.tree.name) === false) {
      return readFew(read, view, request, range);
    }
    const { leafRecords } = request.tree;
    const guessed = guess(view, request, range);
    if (!whole && skippedBy(request) <= leafRecords && guessedCount(guessed) <= leafRecords) {
      const narrow = await readNarrow(read, view, request, range);
      if (narrow !== null) return narrow;
    }
    return inSnapshot(view, (readInSnapshot) => readByRank(readInSnapshot, view, request, range, guessed));
  });
  return foundPage(page, request);
}

/** A page near the front of all that has the facets: its count lies in the stamp. */
async function readFront(view: View, request: RankedRequest): Promise<CountedPage> {
  const { tree, facets } = request;
  if (facets === null) {
    return readWhole(view, { entity: tree.entity, sort: { [tree.keyField]: 1 } }, request, tree.keyIndex);
  }
  const match = matching(view.storeId, request, WHOLE);
  const rows = await readSnapshot<PageRow>(
    view,
    request.tree.collection,
    [...pageStages(view, match, request, skippedBy(request)), unionWithStamp(view)],
    indexFor(request),
  );
  const stamp = stampIn(rows);
  return { rows, stamp, count: countFromStamp(stamp, request) };
}
