/** `GET /api/store/info/`: the store's own record. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/info/',
  scopes: ['store'],
  parameters: {},
  shows: ['store'],
  read: (view) => readRecord(view, COLLECTIONS.store, view.storeId, 'summary'),
});
