/** `GET /api/order/list`: the store's orders, newest first. */
import { listEndpoint } from '#query/list-endpoint.ts';
import { orderFilters, ordersOf } from '#query/reading/orders.ts';

export default listEndpoint('order', {
  description: 'The orders of the store, newest first. To follow them, ask `/api/order/changes`.',
  filters: orderFilters,
  links: [{ operationId: 'getOrder', parameter: 'order_id', from: '/results/0/id' }],
  ask: (values) => ordersOf('anyone', values),
});
