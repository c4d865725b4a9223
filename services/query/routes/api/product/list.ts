/** `GET /api/product/list`: the store's products, by their category's position, then their own. */
import { dataEndpoint } from '#query/data-endpoint.ts';
import { page } from '#query/openapi/data-operation.ts';
import { productListParameters, readProducts } from '#query/reading/products/list.ts';
import { ProductSummary } from '#query/records/product.ts';

export default dataEndpoint({
  path: '/list',
  scopes: ['menu'],
  parameters: productListParameters,
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
  read: readProducts,
});
