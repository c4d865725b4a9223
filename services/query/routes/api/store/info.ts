/** `GET /api/store/info/`: the store's own record. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { readRecord } from '#query/reading/record.ts';
import { StoreInfo } from '#query/records/store.ts';

export default dataEndpoint({
  path: '/info/',
  scopes: ['store'],
  parameters: {},
  documentation: {
    operationId: 'getStoreInfo',
    tag: 'Store',
    summary: 'Get the store',
    description:
      'The store that the key belongs to. Its `timezone_offset` gives every date-time of this API its meaning. 404 until the store’s own record has arrived.',
    answer: one(StoreInfo),
  },
  shows: ['store'],
  read: (view) => readRecord(view, COLLECTIONS.store, view.storeId, 'summary'),
});
