/** `GET /api/product/details/`: one product, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { one } from '#query/openapi/data-operation.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';
import { Product } from '#query/records/product.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['menu'],
  parameters: {
    product_id: required(id, { description: 'The product, as lists and orders name it.', example: 'p7' }),
  },
  documentation: {
    operationId: 'getProduct',
    tag: 'Products',
    summary: 'Get a product',
    description: 'One product, with its option groups.',
    answer: one(Product),
  },
  shows: ['product', 'option_group'],
  read: (view, { product_id: productId }) => readRecord(view, COLLECTIONS.product, productId, 'product'),
});
