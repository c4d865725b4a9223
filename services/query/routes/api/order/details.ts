/** `GET /api/order/details/`: one order, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Order } from '#query/records/order.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['order'],
  parameters: {
    order_id: required(id, { description: 'The order, as lists and reviews name it.', example: 'o1001' }),
  },
  documentation: {
    operationId: 'getOrder',
    tag: 'Orders',
    summary: 'Get an order',
    description: 'One order, with its items, delivery, payments and the way it has made.',
    answer: one(Order),
  },
  shows: ['order'],
  read: (view, { order_id: orderId }) => readRecord(view, COLLECTIONS.order, orderId, 'order'),
});
