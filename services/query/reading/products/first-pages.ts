/**
 * First pages of the product lists of several stores in one read, where they lie in few products: those of the first categories of
 * the layouts that are cached, and the stamps that prove them.
 */
import { COLLECTIONS, oneOf, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { PAGE_FIELDS } from '../page.ts';
import type { FirstPage } from '../shared-pages.ts';
import { readSnapshot, type Source } from '../snapshot.ts';
import { firstShelves, type Layout, WITHIN_CATEGORY } from './layout.ts';

type Row = Stamp & { products: { summary: string; offset: string }[] };

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
  source: Source,
  layoutOf: (storeId: string) => Layout | undefined,
  pageSize: number,
  storeIds: readonly string[],
): Promise<Map<string, FirstPage>> {
  const compact = new Map(
    storeIds.flatMap((storeId) => {
      const layout = layoutOf(storeId);
      if (layout === undefined || !isCompact(layout, pageSize)) return [];
      const categories = firstShelves(layout, pageSize).flatMap((shelf) => shelf.categories);
      return [[storeId, { layout, categories }]];
    }),
  );
  const wanted = new Set([...compact.values()].flatMap(({ categories }) => categories));
  // A category of one store may have the id of one that another store has further down.
  const most = 2 * (pageSize + MOST_BESIDE);
  const rows = await readSnapshot<Row>(source, STAMPS, [
    { $match: { _id: oneOf(storeIds) } },
    {
      $lookup: {
        from: COLLECTIONS.product,
        localField: '_id',
        foreignField: 'store_id',
        pipeline: [
          { $match: { category_id: { $in: [...wanted] } } },
          { $sort: { category_id: 1, ...WITHIN_CATEGORY } },
          { $limit: most },
          PAGE_FIELDS,
        ],
        as: 'products',
      },
    },
  ]);
  return new Map(
    rows.map(({ products, ...stamp }): [string, FirstPage] => {
      const used = compact.get(stamp._id);
      if (used === undefined || products.length === most) {
        return [stamp._id, { rows: [], stamp, isAlone: true }];
      }
      const byCategory = Map.groupBy(products, ({ summary }) => categoryIn(summary));
      const ofPage = used.categories.flatMap((id) => byCategory.get(id) ?? []).slice(0, pageSize);
      return [stamp._id, { rows: ofPage, stamp, layout: used.layout }];
    }),
  );
}

const BEFORE_CATEGORY = '"category_id":';

/** The category that a product's summary names, empty for none: to read it beside would cost as much as all else of the row. */
function categoryIn(summary: string): string {
  const at = summary.indexOf(BEFORE_CATEGORY) + BEFORE_CATEGORY.length;
  return summary[at] === '"' ? summary.slice(at + 1, summary.indexOf('"', at + 1)) : '';
}
