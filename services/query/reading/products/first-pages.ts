/**
 * First pages of the product lists of several stores in one read, where they lie in few products: those of the first categories of
 * the layouts that are remembered, and the stamps that prove them.
 */
import { COLLECTIONS, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Bounded } from '../../deadline.ts';
import { idIn } from '../id-in.ts';
import type { PageRow } from '../page.ts';
import type { FirstPage } from '../shared-pages.ts';
import { SNAPSHOT } from '../snapshot.ts';
import { firstShelves, type Layout, NO_LAYOUT, WITHIN_CATEGORY } from './layout.ts';
import type { Layouts } from './layouts.ts';

type Row = Stamp & { products: (PageRow & { category_id: string })[] };

/** Products that are read beside those of a page, at most. */
const MOST_BESIDE = 100;

/** Whether the first page lies in few products of categories, each of which has a position of its own. */
export function isCompact(layout: Layout, pageSize: number): boolean {
  const shelves = firstShelves(layout, pageSize);
  const products = shelves.reduce((sum, shelf) => sum + shelf.products, 0);
  return products <= pageSize + MOST_BESIDE && shelves.every(({ categories }) => categories.length === 1);
}

/** Reads the pages of some stores. Whether its layout is still the present one is for the caller to see. */
export async function readFirstProducts(
  { db }: Generation,
  bounded: Bounded,
  layouts: Layouts,
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const used = new Map(storeIds.map((storeId) => [storeId, layouts.known(storeId) ?? NO_LAYOUT]));
  const compact = [...used].filter(([, layout]) => isCompact(layout, pageSize));
  const wanted = new Map(
    compact.map(([storeId, layout]) => [
      storeId,
      firstShelves(layout, pageSize).flatMap(({ categories }) => categories),
    ]),
  );
  // A category of one store may have the id of one that another store has further down.
  const most = 2 * (pageSize + MOST_BESIDE);
  const rows = await bounded((signal) =>
    db
      .collection(STAMPS)
      .aggregate<Row>(
        [
          { $match: { _id: idIn(storeIds) } },
          {
            $lookup: {
              from: COLLECTIONS.product,
              localField: '_id',
              foreignField: 'store_id',
              pipeline: [
                { $match: { category_id: { $in: [...new Set([...wanted.values()].flat())] } } },
                { $sort: { category_id: 1, ...WITHIN_CATEGORY } },
                { $limit: most },
                { $project: { _id: 0, category_id: 1, summary: 1, offset: 1 } },
              ],
              as: 'products',
            },
          },
        ],
        { ...SNAPSHOT, signal },
      )
      .toArray(),
  );
  return new Map(
    rows.map(({ products, ...stamp }) => {
      const byCategory = Map.groupBy(products, ({ category_id: category }) => category);
      const categories = wanted.get(stamp._id);
      const page: FirstPage = {
        rows: (categories ?? []).flatMap((id) => byCategory.get(id) ?? []).slice(0, pageSize),
        stamp,
        layout: used.get(stamp._id) ?? NO_LAYOUT,
        isAlone: categories === undefined || products.length === most,
      };
      return [stamp._id, page];
    }),
  );
}
