/** `GET /api/category/list`: the store's categories, by position. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { listRequest } from '#query/reading/list-request.ts';
import { readList } from '#query/reading/lists.ts';
import { paging } from '#query/reading/paging.ts';
import { CategorySummary } from '#query/records/category.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: paging,
  documentation: {
    operationId: 'listCategories',
    tag: 'Categories',
    summary: 'List categories',
    description: 'The categories of the store, active or not, by position, then by name.',
    answer: page(CategorySummary),
    links: [
      { operationId: 'getCategory', parameter: 'category_id', from: '/results/0/id' },
      { operationId: 'listProducts', parameter: 'category_id', from: '/results/0/id' },
    ],
  },
  shows: ['category'],
  read: (view, { page, page_size: pageSize }) =>
    readList(
      view,
      listRequest({
        entity: 'category',
        sort: { position: 1, name: 1, _id: 1 },
        page,
        pageSize,
      }),
    ),
});
