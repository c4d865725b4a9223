/** `GET /api/category/changes`: the store's categories that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { CategorySummary } from '#query/records/category.ts';

export default changesEndpoint({
  entity: 'category',
  scopes: ['menu'],
  operationId: 'followCategories',
  tag: 'Categories',
  plural: 'categories',
  type: CategorySummary,
});
