/** `GET /api/product/details/`: one product, whole. */
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { dataEndpoint } from '#query/data-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { required } from '#query/parameters/parameter.ts';
import { readRecord } from '#query/reading/record.ts';

export default dataEndpoint({
  path: '/details/',
  scopes: ['menu'],
  parameters: { product_id: required(id) },
  shows: ['product', 'option_group'],
  read: (view, { product_id: productId }) => readRecord(view, COLLECTIONS.product, productId, 'whole'),
});
