/** The words by which orders are told apart. */
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities/order.ts';
import { words } from './fields.ts';

export const OrderStatus = words(
  'OrderStatus',
  ORDER_STATUSES,
  'How far an order is: from `pending` (placed, not yet accepted) to `concluded`, or `cancelled`.',
);

export const OrderType = words(
  'OrderType',
  ORDER_TYPES,
  '`delivery`: brought to the customer. `takeout`: fetched by the customer. `indoor`: eaten in the store.',
);
