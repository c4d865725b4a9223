/** Looks whether a store is known: most often an unknown one is a typing mistake. */
import { describeError } from '#shared/errors.ts';
import { COLLECTIONS, documentId, type StoreDocument } from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';
import { remark } from '../output/print.ts';

/** Tells the operator where no record of a store has arrived in an environment. It never fails: who blocks a store needs no record. */
export async function remarkUnknownStore(
  servers: Servers,
  environment: string,
  storeId: string,
): Promise<void> {
  try {
    const generation = await findLiveGeneration(await servers.databases(environment), environment);
    const found = await generation?.db
      .collection<StoreDocument>(COLLECTIONS.store)
      .findOne({ _id: documentId(storeId, storeId), store_id: storeId }, { projection: { _id: 1 } });
    if (!found) remark(`note: no record of a store ${storeId} has arrived in ${environment} yet`);
  } catch (error) {
    remark(`note: nobody knows whether a record of a store ${storeId} has arrived: ${describeError(error)}`);
  }
}
