/** `GET /api/category/list`: the store's categories, by position. */
import { listEndpoint } from '#query/list-endpoint.ts';

export default listEndpoint('category', {
  description: 'The categories of the store, active or not, by position, then by name.',
  filters: {},
  links: [
    { operationId: 'getCategory', parameter: 'category_id', from: '/results/0/id' },
    { operationId: 'listProducts', parameter: 'category_id', from: '/results/0/id' },
  ],
  ask: () => ({ sort: { position: 1, name: 1, _id: 1 } }),
});
