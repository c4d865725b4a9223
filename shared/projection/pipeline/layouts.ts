/**
 * Counts the products of each category, so that a page of products is found without reading all.
 */
import type { ClientSession, Db } from 'mongodb';
import type { EntityName } from '../../events/entities.ts';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  type Documents,
  idsOfStore,
  type ProductDocument,
  writeAll,
} from '../../read-models/collections.ts';
import { getOrInsert } from '../../maps.ts';
import { nextVersion } from '../rank-tree/loaded-tree.ts';

/** The place in the layout: a product's category, empty for none, or a category's position. */
export type Place = string | number;

export const PLACED_FIELDS = { category_id: 1, position: 1 } as const;

/**
 * A document's place, from the fields that `PLACED_FIELDS` names; `null` for what is not in the
 * product list.
 */
export function placeOf(entity: EntityName, document: object): Place | null {
  if (entity === 'product') return (document as Documents['product']).category_id;
  if (entity === 'category') return (document as Documents['category']).position;
  return null;
}

/** By store id and id of the count: how many products more or fewer name a category. */
export type LayoutChanges = Map<string, Map<string, number>>;

/** Notes a new place of a product or category; `null` if it did not exist, or is gone. */
export function noteLayout(
  changes: LayoutChanges,
  storeId: string,
  before: Place | null,
  after: Place | null,
): void {
  if (before === after) return;
  const products = getOrInsert(changes, storeId, () => new Map());
  for (const [place, by] of [
    [before, -1],
    [after, 1],
  ] as const) {
    if (typeof place !== 'string') continue;
    const id = documentId(storeId, place);
    products.set(id, (products.get(id) ?? 0) + by);
  }
}

/**
 * Writes them in the session's transaction.
 * @returns the versions of the layouts that changed, by store id.
 */
export async function writeLayouts(
  db: Db,
  session: ClientSession,
  changes: LayoutChanges,
): Promise<Map<string, string>> {
  const collection = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
  const moved = [...changes].flatMap(([store_id, products]) =>
    [...products].flatMap(([_id, by]) => (by === 0 ? [] : { _id, store_id, by })),
  );
  const operations = moved.map(({ _id, store_id, by }) => ({
    updateOne: {
      filter: { _id },
      update: { $inc: { products: by }, $setOnInsert: { store_id } },
      upsert: true,
    },
  }));
  await writeAll(collection, operations, session);
  const fewer = moved.flatMap(({ _id, by }) => (by < 0 ? _id : []));
  if (fewer.length > 0)
    await collection.deleteMany({ _id: { $in: fewer }, products: 0 }, { session });
  return new Map([...changes.keys()].map((storeId) => [storeId, nextVersion()]));
}

export async function countByCategory(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<Map<string, number>> {
  const counted = db
    .collection<ProductDocument>(COLLECTIONS.product)
    .aggregate<{ _id: string; products: number }>(
      [
        { $match: { store_id: storeId } },
        { $group: { _id: '$category_id', products: { $sum: 1 } } },
      ],
      { session, hint: 'by_category', batchSize: 10_000 },
    );
  const counts = new Map<string, number>();
  for await (const { _id, products } of counted) counts.set(documentId(storeId, _id), products);
  return counts;
}

export async function recountProducts(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<void> {
  const collection = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
  await collection.deleteMany({ _id: idsOfStore(storeId) }, { session });
  const counted = await countByCategory(db, session, storeId);
  const counts = [...counted].map(([_id, products]) => ({ _id, store_id: storeId, products }));
  if (counts.length > 0) await collection.insertMany(counts, { session, ordered: false });
}
