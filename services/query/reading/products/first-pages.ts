/**
 * First pages of the product lists of several stores in one read, where they lie in few products: those of the first categories of
 * the layouts that are remembered, and the stamps that prove them. Where categories have moved since, their positions come along.
 */
import { type CategoryDocument, COLLECTIONS, STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Bounded } from '../../deadline.ts';
import { idIn } from '../id-in.ts';
import { PAGE_FIELDS } from '../page.ts';
import type { FirstPage } from '../shared-pages.ts';
import { SNAPSHOT } from '../snapshot.ts';
import { firstShelves, type Layout, movedLayout, NO_LAYOUT, WITHIN_CATEGORY } from './layout.ts';
import type { Layouts } from './layouts.ts';

type Row = Stamp & {
  products: { summary: string; offset: string }[];
  /** Those of the store, where its layout is not the one that was known; nothing else is looked up then. */
  categories: Pick<CategoryDocument, '_id' | 'position'>[];
  moved: string;
};

/** Products that are read beside those of a page, at most. */
const MOST_BESIDE = 100;

/** Categories that come along with a page, at most. */
const MOST_CATEGORIES = 200;

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
  const versions = [...used.values()].flatMap(({ version }) => version ?? []);
  // A category of one store may have the id of one that another store has further down.
  const most = 2 * (pageSize + MOST_BESIDE);
  const rows = await bounded((signal) =>
    db
      .collection(STAMPS)
      .aggregate<Row>(
        [
          { $match: { _id: idIn(storeIds) } },
          { $set: { moved: { $cond: [{ $in: ['$layout', { $literal: versions }] }, '', '$_id'] } } },
          {
            $lookup: {
              from: COLLECTIONS.category,
              localField: 'moved',
              foreignField: 'store_id',
              pipeline: [
                // In the order of the index that holds all that is asked for.
                { $sort: { position: 1, name: 1, _id: 1 } },
                { $limit: MOST_CATEGORIES + 1 },
                { $project: { position: 1 } },
              ],
              as: 'categories',
            },
          },
          {
            $lookup: {
              from: COLLECTIONS.product,
              localField: '_id',
              foreignField: 'store_id',
              pipeline: [
                { $match: { category_id: { $in: [...new Set([...wanted.values()].flat())] } } },
                { $sort: { category_id: 1, ...WITHIN_CATEGORY } },
                { $limit: most },
                PAGE_FIELDS,
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
    rows.map(({ products, categories: present, moved: _moved, ...stamp }) => {
      const byCategory = Map.groupBy(products, ({ summary }) => categoryIn(summary));
      const categories = wanted.get(stamp._id);
      const layout = used.get(stamp._id) ?? NO_LAYOUT;
      const page: FirstPage = {
        rows: (categories ?? []).flatMap((id) => byCategory.get(id) ?? []).slice(0, pageSize),
        stamp,
        layout,
        isAlone: categories === undefined || products.length === most,
      };
      if (stamp.layout !== layout.version && present.length <= MOST_CATEGORIES) {
        const positions = new Map(present.map(({ _id, position }) => [_id, position]));
        page.present = movedLayout(layout, stamp, positions);
      }
      return [stamp._id, page];
    }),
  );
}

const BEFORE_CATEGORY = '"category_id":';

/** The category that a product's summary names, empty for none: to read it beside would cost as much as all else of the row. */
function categoryIn(summary: string): string {
  const at = summary.indexOf(BEFORE_CATEGORY) + BEFORE_CATEGORY.length;
  return summary[at] === '"' ? summary.slice(at + 1, summary.indexOf('"', at + 1)) : '';
}
