/** What lists of orders can be filtered by, and what the filters ask for. */
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { orderFacets } from '#shared/read-models/rank-tree/facets.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { oneOf } from '../parameters/kinds.ts';
import { repeatable, type Values } from '../parameters/parameter.ts';
import { OrderStatus, OrderType } from '../records/order.ts';
import { inOrderOf, type Wanted } from './list-request.ts';
import { createdBetween, createdRange, updatedBetween, updatedRange } from './range.ts';

/** The filters of every list of orders. */
export const orderFilters = {
  status: repeatable(oneOf(ORDER_STATUSES, OrderStatus), {
    description: 'Only orders with this status. Repeat it for several: `status=pending&status=preparing`.',
  }),
  order_type: repeatable(oneOf(ORDER_TYPES, OrderType), {
    description: 'Only orders of this type. Repeat it for several.',
  }),
  ...createdRange,
  ...updatedRange,
};

/** Orders, newest first: of everybody, those that name a customer, or one customer's. */
export function ordersOf(
  whom: 'anyone' | 'a customer' | { customerId: string },
  values: Values<typeof orderFilters>,
): Wanted {
  const ofOne = typeof whom !== 'string';
  return {
    ...inOrderOf(RANK_TREES.order),
    facets: orderFacets(values.status, values.order_type, whom !== 'anyone'),
    created: createdBetween(values),
    createdKey: 'rank_key',
    updated: updatedBetween(values),
    where: ofOne ? { customer_id: whom.customerId } : {},
    few: ofOne,
  };
}
