/** Reads one page of the customers created in a range of time, by name. How many there are is known beforehand, and decides how. */
import type { Document } from 'mongodb';
import type { KeyRange } from '#shared/read-models/rank-tree/keys.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { type CountedPage, PAGE_FIELDS, type PageRequest, type PageRow, skippedBy, indexScan } from '../read/page.ts';
import { keyWithin } from '../rank-tree/read-tree.ts';
import { readByRank } from '../rank-tree/by-rank.ts';
import type { ReadInSnapshot } from '../read/snapshot.ts';
import type { View } from '../read/shared-reads.ts';

const BY_NAME = RANK_TREES.customer;
const BY_CREATION = RANK_TREES.customer_created;

/** Walking by name reads whole customers, sorting a range only keys of its index: three of them in the time of one. */
const KEYS_IN_THE_TIME_OF_A_CUSTOMER = 3;

/** Reads the page in the snapshot of `read`. */
export async function readCreatedByName(
  read: ReadInSnapshot,
  view: View,
  range: KeyRange,
  request: PageRequest,
): Promise<CountedPage> {
  const { count, stamp } = await readByRank(
    read,
    view,
    { tree: BY_CREATION, facets: null, page: 1, pageSize: 1 },
    range,
  );
  if (skippedBy(request) >= count) return { rows: [], stamp, count };
  const all = stamp?.counts?.customer ?? 0;
  const walked = ((skippedBy(request) + request.pageSize) * all) / count;
  const match = { store_id: view.storeId, ...keyWithin(BY_CREATION.keyField, range) };
  // Where the range holds many, one is soon met by name.
  const isWalked = count > walked * KEYS_IN_THE_TIME_OF_A_CUSTOMER;
  if (!isWalked) return { rows: await sortRange(read, view, match, request), stamp, count };
  const { entity, keyField, keyIndex: index } = BY_NAME;
  return indexScan(view, { ...request, entity, match, sort: { [keyField]: 1 }, index, count: () => count }, read);
}

/** Where the range holds few: their names are sorted in their index, and only the page's customers are read. */
async function sortRange(
  read: ReadInSnapshot,
  { storeId }: View,
  match: Document,
  request: PageRequest,
): Promise<PageRow[]> {
  const { collection, keyField, keyIndex } = BY_NAME;
  const keys = await read<{ key: string }>(
    collection,
    [
      { $match: match },
      { $project: { _id: 0, key: `$${keyField}` } },
      { $sort: { key: 1 } },
      { $skip: skippedBy(request) },
      { $limit: request.pageSize },
    ],
    BY_CREATION.keyIndex,
  );
  return read<PageRow>(
    collection,
    [
      { $match: { store_id: storeId, [keyField]: { $in: keys.map(({ key }) => key) } } },
      { $sort: { [keyField]: 1 } },
      PAGE_FIELDS,
    ],
    keyIndex,
  );
}
