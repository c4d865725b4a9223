/** Reads one page of the customers created in a range of time, by name. How many there are is known beforehand, and decides how. */
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, skippedBy } from './page.ts';
import { keyWithin } from './range.ts';
import { readByRank } from './ranked/by-rank.ts';
import type { ReadShared, View } from './view.ts';
import { NARROW } from './window.ts';

/** Reads the page in the snapshot of `read`: few are sorted, many are met soon when all are walked by name. */
export async function readCreated(
  read: ReadShared,
  view: View,
  range: KeyRange,
  request: PageRequest,
): Promise<CountedPage> {
  const { collection, keyField, keyIndex } = RANK_TREES.customer;
  const created = RANK_TREES.customer_created;
  const { count, stamp } = await readByRank(
    read,
    view,
    { tree: created, facets: null, range: () => range, page: 1, pageSize: 1 },
    range,
  );
  const rows = await read<PageRow>(
    collection,
    [
      { $match: { store_id: view.storeId, ...keyWithin(created.keyField, range) } },
      { $sort: { [keyField]: 1 } },
      { $skip: skippedBy(request) },
      { $limit: request.pageSize },
      PAGE_FIELDS,
    ],
    count <= NARROW ? created.keyIndex : keyIndex,
  );
  return { rows, stamp, count };
}
