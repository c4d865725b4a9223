/** The stores that a comparison covers, and the snapshots in which it reads them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS, RANK_NODES, STAMPS } from '#shared/read-models/collections.ts';
import { isUnavailable } from '#shared/errors.ts';

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

/** A collection that was just made is in no snapshot for a moment; an election takes longer. */
const PATIENCE_MS = 15_000;

/** Runs `read` with a snapshot of its own. */
export async function inSnapshot<T>(
  client: MongoClient,
  read: (session: ClientSession) => Promise<T>,
): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(100)) {
    try {
      return await client.withSession({ snapshot: true }, read);
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > end) throw error;
    }
  }
}
