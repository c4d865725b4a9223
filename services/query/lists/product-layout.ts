/**
 * The layout of a store's product list: its categories in order, and how many products name each. With it a page is cut into
 * segments, each of which an index has in order.
 */
import type { Document } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  idsOfStore,
  type Stamp,
} from '#shared/read-models/collections.ts';
import type { CategoryGroup, Layout } from '../read/caches.ts';
import type { Segment } from '../read/page.ts';
import { type SnapshotReads, unionWithStamps } from '../read/snapshot.ts';

/**
 * The groups of a store.
 * @param positions where each category stands, by document id.
 * @param products how many name each category, by document id.
 */
export function categoryGroupsOf(
  storeId: string,
  positions: ReadonlyMap<string, number>,
  products: ReadonlyMap<string, number>,
): CategoryGroup[] {
  const prefix = documentId(storeId, '');
  const groups = new Map<number, CategoryGroup>();
  for (const [id, count] of products) {
    if (count <= 0) continue;
    const position = positions.get(id) ?? Number.POSITIVE_INFINITY;
    const group = groups.get(position) ?? { categories: [], count: 0 };
    group.categories.push(id.slice(prefix.length));
    group.count += count;
    groups.set(position, group);
  }
  return [...groups].toSorted(([a], [b]) => (a === b ? 0 : a - b)).map(([, group]) => group);
}

/** The index in which each category's products stand in order. */
export const SEGMENT_INDEX = 'by_category';

/** The order of products within a category. */
export const WITHIN_CATEGORY = { position: 1, name: 1, _id: 1 } as const;

/** The stages that find a segment; `filter` says more of the products than whose they are. */
export function segmentStages(
  storeId: string,
  { part: { categories }, skip, limit }: Segment<CategoryGroup>,
  filter: Document,
): Document[] {
  const [category] = categories;
  return [
    {
      $match: {
        store_id: storeId,
        category_id: categories.length === 1 ? category : { $in: [...categories] },
        ...filter,
      },
    },
    { $sort: WITHIN_CATEGORY },
    ...(skip > 0 ? [{ $skip: skip }] : []),
    { $limit: limit },
  ];
}

type CategoryRow = { category: true } & Pick<CategoryDocument, '_id' | 'position'>;
type Row = CategoryRow | Pick<CategoryProducts, '_id' | 'products'> | Stamp;

export interface ReadLayout {
  layout: Layout;
  /** Where each category stands, by document id. */
  positions: ReadonlyMap<string, number>;
  stamp: Stamp | null;
}

/** Reads it with the stamp of the same snapshot, some rows at a time: of a hundred thousand categories, no single read shall take long. */
export async function readLayout(reads: SnapshotReads, storeId: string): Promise<ReadLayout> {
  const batches = reads.batches<Row>(
    COLLECTIONS.category,
    [
      { $match: { store_id: storeId } },
      // Covered by the index.
      { $project: { position: 1, category: { $literal: true } } },
      {
        $unionWith: {
          coll: CATEGORY_PRODUCTS,
          pipeline: [{ $match: { _id: idsOfStore(storeId) } }, { $project: { products: 1 } }],
        },
      },
      unionWithStamps(storeId),
    ],
    'by_position',
  );
  const positions = new Map<string, number>();
  const products = new Map<string, number>();
  let stamp: Stamp | null = null;
  for await (const rows of batches) {
    for (const row of rows) {
      if ('products' in row) products.set(row._id, row.products);
      else if (row.category === true) positions.set(row._id, row.position);
      else stamp = row;
    }
  }
  const layout = { version: stamp?.layout, groups: categoryGroupsOf(storeId, positions, products) };
  return { layout, positions, stamp };
}
