/** `GET /api/customer/list`: the store's customers by name. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { customerListParameters, readCustomers } from '#query/reading/customers.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: customerListParameters,
  shows: ['customer'],
  read: readCustomers,
});
