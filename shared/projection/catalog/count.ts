/** Counts of products by the category they name, from the products themselves, to verify or repair what is stored. */
import type { ClientSession, Db, Filter } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  idsOfStore,
  type ProductDocument,
} from '../../read-models/collections.ts';

/** The stored counts of a store. */
export function countsOf(storeId: string): Filter<CategoryProducts> {
  return { _id: idsOfStore(storeId) };
}

/** The true counts of a store, by their ids. */
export async function countByCategory(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<Map<string, number>> {
  const counted = db
    .collection<ProductDocument>(COLLECTIONS.product)
    .aggregate<{ _id: string; products: number }>(
      [{ $match: { store_id: storeId } }, { $group: { _id: '$category_id', products: { $sum: 1 } } }],
      { session, hint: 'by_category', batchSize: 10_000 },
    );
  const counts = new Map<string, number>();
  for await (const { _id, products } of counted) counts.set(documentId(storeId, _id), products);
  return counts;
}

/** Makes a store's counts anew, in the session's transaction. */
export async function recountProducts(db: Db, session: ClientSession, storeId: string): Promise<void> {
  const collection = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
  await collection.deleteMany(countsOf(storeId), { session });
  const counts = [...(await countByCategory(db, session, storeId))].map(([_id, products]) => ({
    _id,
    store_id: storeId,
    products,
  }));
  if (counts.length > 0) await collection.insertMany(counts, { session, ordered: false });
}
