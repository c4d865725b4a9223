/** `GET /api/order/list`: the store's orders, newest first. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { orderListParameters, readOrders } from '#query/reading/orders.ts';
import { OrderSummary } from '#query/records/order.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['order'],
  parameters: orderListParameters,
  documentation: {
    operationId: 'listOrders',
    tag: 'Orders',
    summary: 'List orders',
    description: 'The orders of the store, newest first. To follow them, ask `/api/order/changes`.',
    answer: page(OrderSummary),
    links: [{ operationId: 'getOrder', parameter: 'order_id', from: '/results/0/id' }],
  },
  shows: ['order'],
  read: (view, values) => readOrders(view, values, 'anyone'),
});
