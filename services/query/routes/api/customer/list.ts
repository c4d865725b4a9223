/** `GET /api/customer/list`: the store's customers by name. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { customerListParameters, readCustomers } from '#query/reading/customers.ts';
import { Customer } from '#query/records/customer.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['crm'],
  parameters: customerListParameters,
  documentation: {
    operationId: 'listCustomers',
    tag: 'Customers',
    summary: 'List customers',
    description: 'The customers of the store by name: compared without accents and letter case.',
    answer: page(Customer),
    links: [{ operationId: 'listCustomerOrders', parameter: 'customer_id', from: '/results/0/id' }],
  },
  shows: ['customer'],
  read: readCustomers,
});
