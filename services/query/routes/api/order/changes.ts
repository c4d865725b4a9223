/** `GET /api/order/changes`: the store's orders that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { OrderSummary } from '#query/records/order.ts';

export default changesEndpoint({
  entity: 'order',
  scopes: ['order'],
  operationId: 'followOrders',
  tag: 'Orders',
  plural: 'orders',
  type: OrderSummary,
});
