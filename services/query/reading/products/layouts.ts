/** Reads the layout of a store's product list. */
import {
  CATEGORY_PRODUCTS,
  type CategoryDocument,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  type Stamp,
  STAMPS,
} from '#shared/read-models/collections.ts';
import type { SnapshotReads } from '../snapshot.ts';
import { type Layout, shelvesOf } from './layout.ts';

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
          pipeline: [
            // "0" follows "/": nothing of another store lies between.
            { $match: { _id: { $gte: documentId(storeId, ''), $lt: `${storeId}0` } } },
            { $project: { products: 1 } },
          ],
        },
      },
      { $unionWith: { coll: STAMPS, pipeline: [{ $match: { _id: storeId } }] } },
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
  const layout = { version: stamp?.layout, shelves: shelvesOf(storeId, positions, products) };
  return { layout, positions, stamp };
}
