/** Lists of orders: their filters and their order. */
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { orderFacets } from '#shared/read-models/rank-tree/facets.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { oneOf } from '../parameters/kinds.ts';
import { repeatable, type Values } from '../parameters/parameter.ts';
import { OrderStatus, OrderType } from '../records/order-words.ts';
import type { Found } from './found.ts';
import { readList } from './lists.ts';
import { rankedRequest } from './list-request.ts';
import { paging } from './paging.ts';
import { createdBetween, createdRange, updatedBetween, updatedRange } from './range.ts';
import type { View } from './view.ts';

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
export function readOrders(
  view: View,
  values: Values<typeof orderListParameters>,
  of: OrdersOf,
): Promise<Found> {
  const ofOne = typeof of !== 'string';
  return readList(
    view,
    rankedRequest(RANK_TREES.order, {
      page: values.page,
      pageSize: values.page_size,
      facets: orderFacets(values.status, values.order_type, of !== 'anyone'),
      created: (toInstant) => createdBetween(values.created_from, values.created_to, toInstant),
      createdKey: 'rank_key',
      updated: (toInstant) => updatedBetween(values.updated_from, values.updated_to, toInstant),
      where: ofOne ? { customer_id: of.customerId } : {},
      few: ofOne,
    }),
  );
}
