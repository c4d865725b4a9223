/** `GET /api/customer/order-list/`: orders that name a customer, or those of one customer. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page as pageOf } from '#query/openapi/data-operation.ts';
import { id, paging } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { listRequest } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { orderFilters, ordersOf } from '#query/reading/orders.ts';
import { OrderSummary } from '#query/records/order.ts';

export default dataEndpoint({
  path: '/order-list/',
  scopes: ['crm', 'order'],
  parameters: {
    ...paging,
    ...orderFilters,
    customer_id: optional(id, {
      description: 'Only orders that name this customer, whether or not there still is a record of them.',
      example: 'c204',
    }),
  },
  documentation: {
    operationId: 'listCustomerOrders',
    tag: 'Customers',
    summary: 'List the orders of customers',
    description:
      'The orders that name a customer, newest first; with `customer_id` those of one customer. An id that no order names gives an empty list.',
    answer: pageOf(OrderSummary),
    links: [{ operationId: 'getOrder', parameter: 'order_id', from: '/results/0/id' }],
  },
  shows: ['order'],
  read: (view, { page, page_size: pageSize, customer_id: customerId, ...filters }) => {
    const wanted = ordersOf(customerId === null ? 'a customer' : { customerId }, filters);
    return readList(view, listRequest({ entity: 'order', ...wanted, page, pageSize }));
  },
});
