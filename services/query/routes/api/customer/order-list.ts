/** `GET /api/customer/order-list/`: orders that name a customer, or those of one customer. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { orderListParameters, readOrders } from '#query/reading/orders.ts';

export default dataEndpoint({
  path: '/order-list/',
  scopes: ['crm', 'order'],
  parameters: { ...orderListParameters, customer_id: optional(id) },
  shows: ['order'],
  read: (view, values) => readOrders(view, values, { customer_id: values.customer_id ?? { $ne: null } }),
});
