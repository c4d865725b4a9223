/** The list of products: its filters and its order. */
import type { Document } from 'mongodb';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import { id } from '../../parameters/kinds.ts';
import { optional, type Values } from '../../parameters/parameter.ts';
import type { Found } from '../found.ts';
import { listRequest } from '../list-request.ts';
import { readList } from '../lists.ts';
import { paging } from '../paging.ts';
import { updatedBetween, updatedRange } from '../range.ts';
import type { View } from '../view.ts';
import { WITHIN_CATEGORY } from './layout.ts';

export const productListParameters = {
  ...paging,
  category_id: optional(id, { description: 'Only products that name this category.', example: 'k1' }),
  ...updatedRange,
};

/** A page of products: in the order of their categories, or of one category. */
export function readProducts(view: View, values: Values<typeof productListParameters>): Promise<Found> {
  const { page, page_size: pageSize, category_id: category, updated_from: from, updated_to: to } = values;
  return readList(
    view,
    listRequest({
      entity: 'product',
      page,
      pageSize,
      updated: (toInstant) => updatedBetween(from, to, toInstant),
      ...(category === null
        ? { arrange: withPlaces(view.storeId), sort: { place: 1, ...WITHIN_CATEGORY } }
        : { where: { category_id: category }, sort: WITHIN_CATEGORY }),
    }),
  );
}

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
