/** A store's access as something that commands change. */
import {
  applyStoreStatus,
  controlCollections,
  type StoreAccess,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import type { StoreAccessData } from './announce.ts';
import type { Subject } from './change.ts';
import { storeIsLive } from './live.ts';

/** The subject of one store in one environment, whether its record is there or not. */
export function storeSubject(
  environment: string,
  storeId: string,
  prefix: string,
): Subject<StoreAccessData, StoreAccess> {
  const recordId = storeAccessId(environment, storeId);
  return {
    name: `store ${storeId} in ${environment}`,
    id: `store_access/${recordId}`,
    read: (control) => controlCollections(control).stores.findOne({ _id: recordId }),
    appliedOf: (store) => ({
      sequence: store.access_sequence,
      state: { status: store.access_status },
      final: false,
    }),
    takesRights: () => false,
    givesRights: (from, to) => to.status === 'active' && from?.status !== 'active',
    atTheLast: 'blocked',
    apply: (control, sequence, { status }) =>
      applyStoreStatus(
        controlCollections(control).stores,
        environment,
        { storeId, sequence, status },
        'access',
      ),
    publish: (redis, control, store) =>
      publishAccess(redis, prefix, { store, stores: controlCollections(control).stores }),
    event: (sequence, { status }) => ({
      entity: 'store_access',
      environment,
      storeId,
      subject: storeId,
      sequence,
      data: { status },
    }),
    waitUntilLive: (wait) => storeIsLive(wait, environment, storeId),
  };
}
