/** Writes what a slice changes in the layouts of product lists: the numbers of products that name a category. */
import type { ClientSession, Db } from 'mongodb';
import { CATEGORY_PRODUCTS, type CategoryProducts } from '../../read-models/collections.ts';
import { nextVersion } from '../ranking/version.ts';
import type { LayoutChanges } from './layout.ts';

/** Writes them in the session's transaction. @returns the versions of the layouts that changed, by store id. */
export async function writeLayouts(
  db: Db,
  session: ClientSession,
  changes: LayoutChanges,
): Promise<Map<string, string>> {
  const collection = db.collection<CategoryProducts>(CATEGORY_PRODUCTS);
  const moved = [...changes].flatMap(([store_id, products]) =>
    [...products].flatMap(([_id, by]) => (by === 0 ? [] : { _id, store_id, by })),
  );
  if (moved.length > 0) {
    const operations = moved.map(({ _id, store_id, by }) => ({
      updateOne: {
        filter: { _id },
        update: { $inc: { products: by }, $setOnInsert: { store_id } },
        upsert: true,
      },
    }));
    await collection.bulkWrite(operations, { session, ordered: false });
  }
  const fewer = moved.flatMap(({ _id, by }) => (by < 0 ? _id : []));
  if (fewer.length > 0) await collection.deleteMany({ _id: { $in: fewer }, products: 0 }, { session });
  return new Map([...changes.keys()].map((storeId) => [storeId, nextVersion()]));
}
