/** `GET /api/customer/changes`: the store's customers that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { Customer } from '#query/records/customer.ts';

export default changesEndpoint({
  entity: 'customer',
  scopes: ['crm'],
  operationId: 'followCustomers',
  tag: 'Customers',
  plural: 'customers',
  type: Customer,
});
