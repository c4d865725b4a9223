/** Orders: the list record and the details answer (rules R9.8 to R9.10). */
import { type TProperties, Type } from 'typebox';
import { ORDER_STATUSES, ORDER_TYPES } from '#shared/events/entities.ts';
import examples from './examples.json' with { type: 'json' };
import {
  Address,
  described,
  Id,
  LocalDateTime,
  Money,
  nullable,
  part,
  record,
  Text,
  Whole,
  enumOf,
} from './fields.ts';

export const OrderStatus = enumOf(
  'OrderStatus',
  ORDER_STATUSES,
  'How far an order is: from `pending` (placed, not yet accepted) to `concluded`, or `cancelled`.',
);

export const OrderType = enumOf(
  'OrderType',
  ORDER_TYPES,
  '`delivery`: brought to the customer. `takeout`: fetched by the customer. `indoor`: eaten in the store.',
);

const Quantity = Type.Integer({ minimum: 1 });
const customerName = nullable(Text, '`null` also where the customer was deleted.');

const CustomerOfSummary = part('OrderCustomerSummary', 'Who ordered.', {
  id: Id,
  name: customerName,
  phone: nullable(Text),
});
const CustomerOfOrder = part('OrderCustomer', 'Who ordered.', {
  id: Id,
  name: customerName,
  phone: nullable(Text),
  document: nullable(Text, 'The CPF or CNPJ for the receipt.'),
});

const Item = part('OrderItem', 'One line of an order.', {
  id: nullable(Id),
  product_id: Id,
  external_code: nullable(Text, 'The product’s code in the store’s own system.'),
  name: described(Text, 'The product’s name when it was ordered.'),
  quantity: Quantity,
  unit_price: described(Money, 'The price of one, without options.'),
  options: Type.Array(
    part('OrderItemOption', 'An option that was chosen.', {
      option_group_id: nullable(Id),
      option_id: nullable(Id),
      external_code: nullable(Text),
      name: nullable(Text),
      quantity: nullable(Quantity),
      unit_price: nullable(Money),
    }),
  ),
  notes: nullable(Text, 'What the customer asked for.'),
  total: described(Money, 'The line, options included.'),
});

const Delivery = part('OrderDelivery', 'Where an order goes, and when it should be there.', {
  address: nullable(Address),
  fee: nullable(Money),
  estimated_at: nullable(LocalDateTime),
});

const Payment = part('OrderPayment', 'One payment of an order.', {
  method: nullable(
    enumOf('PaymentMethod', ['pix', 'credit', 'debit', 'cash', 'voucher', 'other'], 'How it is paid.'),
  ),
  type: nullable(
    enumOf(
      'PaymentType',
      ['prepaid', 'on_delivery'],
      'Whether it was paid when ordering or is paid on delivery.',
    ),
  ),
  amount: nullable(Money),
  change_for: nullable(Money, 'The cash that the customer has ready.'),
});

function fields(customer: TProperties): TProperties {
  return {
    id: Id,
    display_id: nullable(Text, 'The number that the store and the customer see.'),
    status: OrderStatus,
    order_type: OrderType,
    sales_channel: nullable(Text, 'Where it was placed, such as `app`, `site` or `whatsapp`.'),
    ...customer,
    item_count: described(Whole, 'The sum of the items’ quantities.'),
    subtotal: nullable(Money, 'The items together.'),
    delivery_fee: Money,
    service_fee: Money,
    discount: Money,
    total: described(Money, 'What the customer pays.'),
    scheduled_for: nullable(LocalDateTime, 'When the customer wants it, where it was ordered ahead.'),
    created_at: described(LocalDateTime, 'When it was placed.'),
    updated_at: described(LocalDateTime, 'When it changed last.'),
  };
}

export const OrderSummary = record(
  'OrderSummary',
  'An order, as lists show it.',
  fields({ customer: nullable(CustomerOfSummary, '`null` where the order names nobody.') }),
  examples.order,
);

export const Order = record(
  'Order',
  'An order, whole.',
  {
    ...fields({ customer: nullable(CustomerOfOrder, '`null` where the order names nobody.') }),
    items: Type.Array(Item),
    delivery: nullable(Delivery, '`null` where nothing is delivered.'),
    payments: Type.Array(Payment),
    coupon: nullable(
      part('OrderCoupon', 'The coupon that was used.', { id: nullable(Id), code: nullable(Text) }),
    ),
    status_history: Type.Array(
      part('OrderStatusChange', 'A status that an order has had.', {
        status: nullable(OrderStatus),
        at: nullable(LocalDateTime),
      }),
      { description: 'The way so far, oldest first as the store sends it.' },
    ),
    cancellation: nullable(
      part('OrderCancellation', 'Why and when an order was cancelled.', {
        reason: nullable(Text),
        at: nullable(LocalDateTime),
      }),
    ),
    notes: nullable(Text),
  },
  examples.order,
);
