/** Whether a store is known: most often an unknown one is a typing mistake. */
import { COLLECTIONS, documentId, type StoreDocument } from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

/** Whether a store's own record has arrived in an environment. */
export async function hasStoreRecord(
  servers: Servers,
  environment: string,
  storeId: string,
): Promise<boolean> {
  const generation = await findLiveGeneration(
    await servers.mongodb(),
    servers.config.namePrefix,
    environment,
  );
  const found = await generation?.db
    .collection<StoreDocument>(COLLECTIONS.store)
    .findOne({ _id: documentId(storeId, storeId), store_id: storeId }, { projection: { _id: 1 } });
  return found !== undefined && found !== null;
}
