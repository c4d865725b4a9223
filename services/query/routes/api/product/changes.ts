/** `GET /api/product/changes`: the store's products that changed. */
import { changesEndpoint } from '#query/feed/endpoint.ts';
import { ProductSummary } from '#query/records/product.ts';

export default changesEndpoint({
  entity: 'product',
  scopes: ['menu'],
  operationId: 'followProducts',
  tag: 'Products',
  plural: 'products',
  type: ProductSummary,
});
