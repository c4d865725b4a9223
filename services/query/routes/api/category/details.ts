/** `GET /api/category/details/`: one category, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['menu'],
  parameters: { category_id: required(id) },
  shows: ['category', 'product'],
  read: (view, { category_id: categoryId }) => readRecord(view, COLLECTIONS.category, categoryId, 'whole'),
});
