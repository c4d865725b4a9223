/** `GET /api/category/details/`: one category, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Category } from '#query/records/category.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['menu'],
  parameters: {
    category_id: required(id, { description: 'The category, as lists and products name it.', example: 'k1' }),
  },
  documentation: {
    operationId: 'getCategory',
    tag: 'Categories',
    summary: 'Get a category',
    description: 'One category, with the number of its products.',
    answer: one(Category),
  },
  shows: ['category', 'product'],
  read: (view, { category_id: categoryId }) => readRecord(view, COLLECTIONS.category, categoryId, 'category'),
});
