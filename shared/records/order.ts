/** An order (rules R9.8 to R9.10). */
import type { Static } from 'typebox';
import { described, nullable, part, Whole } from './answer.ts';
import { summaryAndWhole } from './components.ts';
import {
  answersOf,
  computed,
  id,
  instant,
  listOf,
  money,
  name,
  oneOf,
  partOf,
  personal,
  prose,
  quantity,
  shower,
  text,
  updatedAt,
} from './field.ts';
import { describeRecord } from './record.ts';
import { address, orderType } from './store.ts';

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

export const orderStatus = oneOf(
  'OrderStatus',
  ORDER_STATUSES,
  'The state of an order: from `pending` (placed, not yet accepted) to `concluded`, or `cancelled`.',
);

const customerInLists = {
  id: id.required(),
  name: personal(name.optional('`null` also if the customer was deleted.')),
  phone: personal(text.optional()),
};

const CUSTOMER = '`null` if the order names nobody.';
const customer = partOf('OrderCustomer', 'Who ordered.', {
  ...customerInLists,
  document: personal(text.optional('The CPF or CNPJ for the receipt.')),
}).optional(CUSTOMER);

const showInLists = shower(customerInLists);
const customerField = {
  ...customer,
  short: {
    answer: nullable(
      part('OrderCustomerSummary', 'Who ordered.', answersOf(customerInLists)),
      CUSTOMER,
    ),
    show: ((value, told) =>
      value === null || value === undefined
        ? null
        : showInLists(told, value)) as typeof customer.show,
  },
};

const itemOption = partOf('OrderItemOption', 'An option that was chosen.', {
  option_group_id: id.optional(),
  option_id: id.optional(),
  external_code: text.optional(),
  name: name.optional(),
  quantity: quantity.optional(),
  unit_price: money.optional(),
});

const item = partOf('OrderItem', 'One line of an order.', {
  id: id.optional(),
  product_id: id.required(),
  external_code: text.optional('The product’s code in the store’s own system.'),
  name: name.required('The product’s name when it was ordered.'),
  quantity: quantity.required(),
  unit_price: money.required('The price of one, without options.'),
  options: listOf(itemOption, 100).optional(),
  notes: prose.optional('What the customer asked for.'),
  total: money.required('The line, options included.'),
});

const delivery = partOf('OrderDelivery', 'Where an order goes, and when it should be there.', {
  address: address.optional(),
  fee: money.optional(),
  estimated_at: instant.optional(),
});

const PAYMENT_METHODS = ['pix', 'credit', 'debit', 'cash', 'voucher', 'other'] as const;
const PAYMENT_TYPES = ['prepaid', 'on_delivery'] as const;

const payment = partOf('OrderPayment', 'One payment of an order.', {
  method: oneOf('PaymentMethod', PAYMENT_METHODS, 'How it is paid.').optional(),
  type: oneOf(
    'PaymentType',
    PAYMENT_TYPES,
    'Whether it was paid when ordering or is paid on delivery.',
  ).optional(),
  amount: money.optional(),
  change_for: money.optional('The cash that the customer has ready.'),
});

const statusChange = partOf('OrderStatusChange', 'A status that an order has had.', {
  status: orderStatus.optional(),
  at: instant.optional(),
});

const itemCount = computed(described(Whole, 'The sum of the items’ quantities.'), ({ state }) => {
  const { items } = state as { items?: Static<typeof item.event>[] | null };
  return (items ?? []).reduce((sum, { quantity: count }) => sum + count, 0);
});

export const order = describeRecord(
  {
    display_id: text.optional('The number that the store and the customer see.'),
    status: orderStatus.required(),
    order_type: orderType.required(),
    sales_channel: text.optional('Where it was placed, such as `app`, `site` or `whatsapp`.'),
    customer: customerField,
    item_count: itemCount,
    subtotal: money.optional('The items together.'),
    delivery_fee: money.or('0.00'),
    service_fee: money.or('0.00'),
    discount: money.or('0.00'),
    total: money.required('What the customer pays.'),
    scheduled_for: instant.optional('When the customer wants it, if it was ordered ahead.'),
    created_at: instant.required('When it was placed.'),
    updated_at: updatedAt('When it changed last.'),
  },
  {
    items: listOf(item, 500).optional(),
    delivery: delivery.optional('`null` if nothing is delivered.'),
    payments: listOf(payment, 50).optional(),
    coupon: partOf('OrderCoupon', 'The coupon that was used.', {
      id: id.optional(),
      code: text.optional(),
    }).optional(),
    status_history: listOf(statusChange, 200).optional(
      'The statuses so far, oldest first as the store sends them.',
    ),
    cancellation: partOf('OrderCancellation', 'Why and when an order was cancelled.', {
      reason: prose.optional(),
      at: instant.optional(),
    }).optional(),
    notes: prose.optional(),
  },
);

export const [OrderSummary, Order] = summaryAndWhole('Order', 'An order', order, 'order');
