/** Lists of orders: their filters and their order. */
import type { Document } from 'mongodb';
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { oneOf } from '../parameters/kinds.ts';
import { repeatable, type Values } from '../parameters/parameter.ts';
import type { Found } from './found.ts';
import { OrderStatus, OrderType } from '../records/order-words.ts';
import { anyOf, NEWEST_FIRST, readList } from './list.ts';
import { paging } from './paging.ts';
import { between, createdRange, updatedRange } from './range.ts';
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

/** A page of orders, newest first; `customers` narrows it to orders that name a customer, or that one. */
export async function readOrders(
  view: View,
  values: Values<typeof orderListParameters>,
  customers: Document = {},
): Promise<Found> {
  return readList(view, {
    entity: 'order',
    filter: (toInstant) => ({
      ...customers,
      ...anyOf('status', values.status),
      ...anyOf('order_type', values.order_type),
      ...between('created_at', values.created_from, values.created_to, toInstant),
      ...between('updated_at', values.updated_from, values.updated_to, toInstant),
    }),
    sort: NEWEST_FIRST,
    page: values.page,
    pageSize: values.page_size,
  });
}
