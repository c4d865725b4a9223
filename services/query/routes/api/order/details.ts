/** `GET /api/order/details/`: one order, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['order'],
  parameters: { order_id: required(id) },
  shows: ['order'],
  read: (view, { order_id: orderId }) => readRecord(view, COLLECTIONS.order, orderId, 'whole'),
});
