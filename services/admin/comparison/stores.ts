/** All stores of which anything is stored, whether or not there is a stamp that says so. */
import type { Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS, RANK_NODES, STAMPS } from '#shared/read-models/collections.ts';

/** The stores' ids. */
export async function storesIn(db: Db): Promise<Set<string>> {
  const stores = new Set<string>();
  for (const name of [STAMPS, ...ENTITY_NAMES.map((entity) => COLLECTIONS[entity])]) {
    // An `_id` is a store's, or begins with it.
    const ids = name === STAMPS ? '_id' : 'store_id';
    const found: unknown[] = await db.collection(name).distinct(ids);
    for (const store of found) if (typeof store === 'string') stores.add(store);
  }
  const ofNodes = db.collection(RANK_NODES).aggregate<{ _id: unknown }>([
    // Nothing but the `_id`, whose index has them all: `<tree>/<store id>/…`.
    { $project: { store: { $arrayElemAt: [{ $split: ['$_id', '/'] }, 1] } } },
    { $group: { _id: '$store' } },
  ]);
  for await (const { _id } of ofNodes) if (typeof _id === 'string') stores.add(_id);
  return stores;
}

/** Whether anything is stored of a store. */
export async function hasAnything(db: Db, storeId: string): Promise<boolean> {
  const places = [
    { name: STAMPS, filter: { _id: storeId as never } },
    ...ENTITY_NAMES.map((entity) => ({ name: COLLECTIONS[entity], filter: { store_id: storeId } })),
    { name: RANK_NODES, filter: { store_id: storeId } },
  ];
  for (const { name, filter } of places) {
    if ((await db.collection(name).findOne(filter, { projection: { _id: 1 } })) !== null) return true;
  }
  return false;
}
