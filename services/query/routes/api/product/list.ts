/** `GET /api/product/list`: the store's products, by their category's position, then their own. */
import type { Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { listEndpoint } from '#query/list-endpoint.ts';
import { id } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { WITHIN_CATEGORY } from '#query/reading/products/layout.ts';
import { updatedBetween, updatedRange } from '#query/reading/range.ts';

export default listEndpoint('product', {
  description:
    'The products of the store, active or not: by the position of their category (those without a known one last), then by their own, then by name.',
  filters: {
    category_id: optional(id, { description: 'Only products that name this category.', example: 'k1' }),
    ...updatedRange,
  },
  links: [{ operationId: 'getProduct', parameter: 'product_id', from: '/results/0/id' }],
  // A category that moves changes the order of products.
  ordered: ['category'],
  ask: ({ category_id: category, ...range }, { storeId }) => ({
    updated: updatedBetween(range),
    ...(category === null
      ? { arrange: withPlaces(storeId), sort: { place: 1, ...WITHIN_CATEGORY } }
      : { where: { category_id: category }, sort: WITHIN_CATEGORY }),
  }),
});

/** Stages that give every product of a window the place of its category; last where there is none or it is unknown. */
function withPlaces(storeId: string): Document[] {
  return [
    { $set: { category: { $concat: [`${storeId}/`, '$category_id'] } } },
    {
      $lookup: {
        from: COLLECTIONS.category,
        localField: 'category',
        foreignField: '_id',
        pipeline: [{ $project: { position: 1 } }],
        as: 'category',
      },
    },
    { $set: { place: { $ifNull: [{ $first: '$category.position' }, Number.POSITIVE_INFINITY] } } },
  ];
}
