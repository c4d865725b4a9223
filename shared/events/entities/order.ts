/** The state of an order, as `store-data.order.changed` carries it (rules R9.8 to R9.10, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS } from '../bounds.ts';
import { absent, Address, Id, Instant, listOf, Money, Name, Prose, Quantity, Text } from '../fields.ts';

export const ORDER_STATUSES = [
  'pending',
  'confirmed',
  'preparing',
  'ready',
  'dispatched',
  'delivered',
  'concluded',
  'cancelled',
] as const;
export const ORDER_TYPES = ['delivery', 'takeout', 'indoor'] as const;

const OrderStatus = Type.Enum([...ORDER_STATUSES]);
export const OrderType = Type.Enum([...ORDER_TYPES]);

const OrderItemOption = Type.Object({
  option_group_id: absent(Id),
  option_id: absent(Id),
  external_code: absent(Text),
  name: absent(Name),
  quantity: absent(Quantity),
  unit_price: absent(Money),
});

const OrderItem = Type.Object({
  id: absent(Id),
  product_id: Id,
  external_code: absent(Text),
  name: Name,
  quantity: Quantity,
  unit_price: Money,
  options: absent(listOf(OrderItemOption, LIST_BOUNDS.item_options)),
  notes: absent(Prose),
  total: Money,
});

export const OrderState = Type.Object({
  display_id: absent(Text),
  status: OrderStatus,
  order_type: OrderType,
  sales_channel: absent(Text),
  customer: absent(Type.Object({ id: Id, name: absent(Name), phone: absent(Text), document: absent(Text) })),
  subtotal: absent(Money),
  delivery_fee: absent(Money, '0.00'),
  service_fee: absent(Money, '0.00'),
  discount: absent(Money, '0.00'),
  total: Money,
  scheduled_for: absent(Instant),
  items: absent(listOf(OrderItem, LIST_BOUNDS.items)),
  delivery: absent(
    Type.Object({ address: absent(Address), fee: absent(Money), estimated_at: absent(Instant) }),
  ),
  payments: absent(
    listOf(
      Type.Object({
        method: absent(Type.Enum(['pix', 'credit', 'debit', 'cash', 'voucher', 'other'])),
        type: absent(Type.Enum(['prepaid', 'on_delivery'])),
        amount: absent(Money),
        change_for: absent(Money),
      }),
      LIST_BOUNDS.payments,
    ),
  ),
  coupon: absent(Type.Object({ id: absent(Id), code: absent(Text) })),
  status_history: absent(
    listOf(Type.Object({ status: absent(OrderStatus), at: absent(Instant) }), LIST_BOUNDS.status_history),
  ),
  cancellation: absent(Type.Object({ reason: absent(Prose), at: absent(Instant) })),
  notes: absent(Prose),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type OrderState = Type.Static<typeof OrderState>;
