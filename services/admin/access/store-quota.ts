/**
 * A store's own quota: written to MongoDB, which outlives Redis, and then to Redis, from where the next request of
 * every instance is decided by it. It is the operators' alone, so no event tells it.
 */
import { isDeepStrictEqual } from 'node:util';
import { controlCollections, type StoreAccess, storeAccessId } from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { accessTopic } from '#shared/events/topics.ts';
import type { Servers } from '../connection/servers.ts';
import { pastHangingTransactions } from './hanging-transactions.ts';

/** As the control database has it; `null` is none of its own. */
export type OwnQuota = NonNullable<StoreAccess['quota']> | null;

/**
 * Gives a store a quota of its own, or takes it away. Written again although it is the same: whatever was missing
 * the last time is made good.
 * @returns whether that changed anything.
 * @throws {StoreDataError} `environment_unavailable`, saying what is in effect all the same.
 */
export async function writeQuota(
  servers: Servers,
  environment: string,
  storeId: string,
  quota: OwnQuota,
): Promise<boolean> {
  const control = await servers.control();
  // Before anything is written: without Redis the change could not be completed.
  const redis = await servers.redis();
  const { stores } = controlCollections(control);
  const _id = storeAccessId(environment, storeId);
  const update = [{ $set: fields(environment, storeId, quota) }];
  const before = await pastHangingTransactions(control, accessTopic(environment), () =>
    stores.findOneAndUpdate({ _id }, update, { upsert: true, returnDocument: 'before' }),
  );
  const store = await stores.findOne({ _id });
  if (store === null) throw new Error('the record that was written is not there');
  try {
    await publishAccess(redis, servers.config.namePrefix, { store, stores });
  } catch (error) {
    throw new StoreDataError(
      'environment_unavailable',
      `the quota of store ${storeId} in ${environment} is in MongoDB and stays, but Redis failed: ${describeError(error)}; it counts as soon as a running service has brought Redis up to date`,
      { cause: error },
    );
  }
  return !isDeepStrictEqual(before?.quota ?? null, quota);
}

/** One atomic update, also of a store about which nothing was said before. */
function fields(environment: string, storeId: string, quota: OwnQuota): object {
  const kept = (name: keyof StoreAccess, otherwise: unknown) => ({
    [name]: { $ifNull: [`$${name}`, otherwise] },
  });
  return {
    environment,
    store_id: storeId,
    ...kept('access_status', 'active'),
    ...kept('access_sequence', -1),
    ...kept('record_status', 'active'),
    ...kept('record_sequence', -1),
    quota: quota === null ? '$$REMOVE' : { $literal: quota },
    // As `nextVersion` has it.
    version: { $max: [{ $add: [{ $ifNull: ['$version', 0] }, 1] }, Date.now()] },
    publish_pending: true,
    updated_at: '$$NOW',
  };
}
