/** Lists of orders: their filters and their order. */
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { orderFacets } from '#shared/read-models/rank-tree/facets.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { oneOf } from '../parameters/kinds.ts';
import { repeatable, type Values } from '../parameters/parameter.ts';
import { OrderStatus, OrderType } from '../records/order-words.ts';
import type { Found } from './found.ts';
import { anyOf, type ListRequest, readList } from './list.ts';
import { paging } from './paging.ts';
import { createdBetween, createdRange, keyWithin, updatedBetween, updatedRange } from './range.ts';
import { readRanked } from './ranked/read.ts';
import type { View } from './view.ts';
import { readWindow } from './window.ts';

/** The parameters of every list of orders. */
export const orderListParameters = {
  ...paging,
  status: repeatable(oneOf(ORDER_STATUSES, OrderStatus), {
    description: 'Only orders with this status. Repeat it for several: `status=pending&status=preparing`.',
  }),
  order_type: repeatable(oneOf(ORDER_TYPES, OrderType), {
    description: 'Only orders of this type. Repeat it for several.',
  }),
  ...createdRange,
  ...updatedRange,
};

/** Whose orders: everybody's, those that name a customer, or one customer's. */
export type OrdersOf = 'anyone' | 'a customer' | { customerId: string };

/** A page of orders, newest first. */
export async function readOrders(
  view: View,
  values: Values<typeof orderListParameters>,
  of: OrdersOf,
): Promise<Found> {
  const { page, page_size: pageSize, created_from: createdFrom, created_to: createdTo } = values;
  const facets = orderFacets(values.status, values.order_type, of !== 'anyone');
  const tree = RANK_TREES.order;
  if (values.updated_from === null && values.updated_to === null && typeof of === 'string') {
    return readRanked(view, {
      tree,
      facets,
      range: (toInstant) => createdBetween(createdFrom, createdTo, toInstant),
      page,
      pageSize,
    });
  }
  const request: ListRequest = {
    entity: tree.entity,
    filter: (toInstant) => ({
      ...(typeof of === 'string' ? {} : { customer_id: of.customerId }),
      ...anyOf('facet', facets ?? []),
      ...keyWithin(tree.keyField, createdBetween(createdFrom, createdTo, toInstant)),
      ...updatedBetween(values.updated_from, values.updated_to, toInstant),
    }),
    sort: { [tree.keyField]: 1 },
    page,
    pageSize,
  };
  return typeof of === 'string' ? readWindow(view, request, 'by_updated') : readList(view, request);
}
