/** Reads one page of a whole list: how many records it has, the stamp says. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { type CountedPage, pageFields, type PageRequest, type PageRow, skippedBy } from './page.ts';
import type { WholeList } from './shared-pages.ts';
import { readSnapshot, type View } from './view.ts';
import { stampIn, unionWithStamp } from './stamp.ts';

/** @param index the one in the order of the list, where MongoDB shall not choose. */
export async function readWhole(
  view: View,
  list: WholeList,
  request: PageRequest,
  index?: string,
): Promise<CountedPage> {
  const { storeId, bounded, shared } = view;
  const first =
    request.page === 1 && !view.masks
      ? await bounded((signal) => shared.pages.first(list, request.pageSize, storeId, signal))
      : null;
  const { rows, stamp } = first ?? (await readAlone(view, list, request, index));
  return { rows, stamp, count: stamp?.counts?.[list.entity] ?? 0 };
}

async function readAlone(view: View, { entity, sort }: WholeList, request: PageRequest, index?: string) {
  const rows = await readSnapshot<PageRow>(
    view,
    COLLECTIONS[entity],
    [
      { $match: { store_id: view.storeId } },
      { $sort: sort },
      { $skip: skippedBy(request) },
      { $limit: request.pageSize },
      ...pageFields(view, entity),
      unionWithStamp(view),
    ],
    index,
  );
  return { rows, stamp: stampIn(rows) };
}
