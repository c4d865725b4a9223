/** `GET /api/order/list`: the store's orders, newest first. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { orderListParameters, readOrders } from '#query/reading/orders.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['order'],
  parameters: orderListParameters,
  shows: ['order'],
  read: (view, values) => readOrders(view, values),
});
