/** `GET /api/product/list`: the store's products, by their category's position, then their own. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { readList } from '#query/reading/list.ts';
import { paging } from '#query/reading/paging.ts';
import { updatedBetween, updatedRange } from '#query/reading/range.ts';
import { ProductSummary } from '#query/records/product.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: {
    ...paging,
    category_id: optional(id, { description: 'Only products that name this category.', example: 'k1' }),
    ...updatedRange,
  },
  documentation: {
    operationId: 'listProducts',
    tag: 'Products',
    summary: 'List products',
    description:
      'The products of the store, active or not: by the position of their category (those without a known one last), then by their own, then by name.',
    answer: page(ProductSummary),
    links: [{ operationId: 'getProduct', parameter: 'product_id', from: '/results/0/id' }],
  },
  // A category that moves changes the order of products.
  shows: ['product', 'category'],
  read: (view, { page, page_size: pageSize, category_id: categoryId, updated_from: from, updated_to: to }) =>
    readList(view, {
      entity: 'product',
      filter: (toInstant) => ({
        ...(categoryId === null ? {} : { category_id: categoryId }),
        ...updatedBetween(from, to, toInstant),
      }),
      sort: { category_position: 1, position: 1, name: 1, _id: 1 },
      page,
      pageSize,
    }),
});
