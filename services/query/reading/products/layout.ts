/**
 * The layout of a store's product list: its categories in order, and how many products name each. With it a page is cut into
 * pieces, each of which an index has in order.
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
  STAMPS,
} from '#shared/read-models/collections.ts';
import type { SnapshotReads } from '../snapshot.ts';

/** Categories of one position, whose products stand among one another. */
export interface Shelf {
  /** Ids; an empty one stands for products without a category. */
  categories: string[];
  products: number;
}

export interface Layout {
  /** That of the stamp; absent for a store that never had a category or product. */
  version: string | undefined;
  /** In order, those without products left out; the last may be that of products whose category is unknown. */
  shelves: Shelf[];
}

/**
 * The shelves of a store.
 * @param positions where each category stands, by document id.
 * @param products how many name each category, by document id.
 */
export function shelvesOf(
  storeId: string,
  positions: ReadonlyMap<string, number>,
  products: ReadonlyMap<string, number>,
): Shelf[] {
  const prefix = documentId(storeId, '');
  const shelves = new Map<number, Shelf>();
  for (const [id, count] of products) {
    if (count <= 0) continue;
    const position = positions.get(id) ?? Number.POSITIVE_INFINITY;
    const shelf = shelves.get(position) ?? { categories: [], products: 0 };
    shelf.categories.push(id.slice(prefix.length));
    shelf.products += count;
    shelves.set(position, shelf);
  }
  return [...shelves].toSorted(([a], [b]) => (a === b ? 0 : a - b)).map(([, shelf]) => shelf);
}

/** The shelves in which the first page lies. */
export function firstShelves({ shelves }: Layout, pageSize: number): Shelf[] {
  let products = 0;
  const last = shelves.findIndex((shelf) => (products += shelf.products) >= pageSize);
  return last === -1 ? shelves : shelves.slice(0, last + 1);
}

/** A part of a page: the products of some categories that come after others of them. */
export interface Piece {
  categories: readonly string[];
  skip: number;
  limit: number;
}

/** Cuts the products from `skip` on, `limit` of them, into pieces in the order of the list. */
export function piecesOf(shelves: readonly Shelf[], skip: number, limit: number): Piece[] {
  const pieces: Piece[] = [];
  let before = 0;
  for (const { categories, products } of shelves) {
    const from = Math.max(skip, before) - before;
    const to = Math.min(skip + limit, before + products) - before;
    if (to > from) pieces.push({ categories, skip: from, limit: to - from });
    before += products;
    if (before >= skip + limit) break;
  }
  return pieces;
}

/** The index in which each category's products stand in order. */
export const PIECE_INDEX = 'by_category';

/** The order of products within a category. */
export const WITHIN_CATEGORY = { position: 1, name: 1, _id: 1 } as const;

/** The stages that find a piece; `filter` says more of the products than whose they are. */
export function pieceStages(
  storeId: string,
  { categories, skip, limit }: Piece,
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

/** One pipeline on the products from several, in their order; `null` of none. */
export function united(pipelines: readonly Document[][]): Document[] | null {
  const [first, ...others] = pipelines;
  if (first === undefined) return null;
  return [...first, ...others.map((pipeline) => ({ $unionWith: { coll: COLLECTIONS.product, pipeline } }))];
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
