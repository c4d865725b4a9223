/** Records outside the catalogue: the store (rule R9.3), coupons, customers, reviews, campaigns (R9.4 to R9.7), orders (R9.8 to R9.10). */
import {
  CAMPAIGN_CHANNELS,
  CAMPAIGN_STATUSES,
  DISCOUNT_TYPES,
  ORDER_STATUSES,
  ORDER_TYPES,
  WEEKDAYS,
} from '#shared/events/entities.ts';
import examples from './examples.json' with { type: 'json' };
import {
  Address,
  arrayOf,
  ClockTime,
  component,
  described,
  enumOf,
  type Fields,
  type Schema,
  Flag,
  Id,
  LocalDateTime,
  Money,
  nullable,
  part,
  record,
  summaryAndWhole,
  Text,
  TimezoneOffset,
  Whole,
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

const Quantity = { type: 'integer', format: 'int64', minimum: 1 };
const CustomerName = nullable(Text, '`null` also where the customer was deleted.');

const customerOfSummary = { id: Id, name: CustomerName, phone: nullable(Text) };
const CustomerOfOrder = part('OrderCustomer', 'Who ordered.', {
  ...customerOfSummary,
  document: nullable(Text, 'The CPF or CNPJ for the receipt.'),
});

const Item = part('OrderItem', 'One line of an order.', {
  id: nullable(Id),
  product_id: Id,
  external_code: nullable(Text, 'The product’s code in the store’s own system.'),
  name: described(Text, 'The product’s name when it was ordered.'),
  quantity: Quantity,
  unit_price: described(Money, 'The price of one, without options.'),
  options: arrayOf(
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
  method: nullable(enumOf('PaymentMethod', ['pix', 'credit', 'debit', 'cash', 'voucher', 'other'], 'How it is paid.')),
  type: nullable(
    enumOf('PaymentType', ['prepaid', 'on_delivery'], 'Whether it was paid when ordering or is paid on delivery.'),
  ),
  amount: nullable(Money),
  change_for: nullable(Money, 'The cash that the customer has ready.'),
});

function orderFields(customer: Schema): Fields {
  return {
    id: Id,
    display_id: nullable(Text, 'The number that the store and the customer see.'),
    status: OrderStatus,
    order_type: OrderType,
    sales_channel: nullable(Text, 'Where it was placed, such as `app`, `site` or `whatsapp`.'),
    customer: nullable(customer, '`null` where the order names nobody.'),
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

const { document: _document, ...exampleCustomer } = examples.order.customer;

export const OrderSummary = record(
  'OrderSummary',
  'An order, as lists show it.',
  orderFields(part('OrderCustomerSummary', 'Who ordered.', customerOfSummary)),
  { ...examples.order, customer: exampleCustomer },
);

export const Order = record(
  'Order',
  'An order, whole.',
  {
    ...orderFields(CustomerOfOrder),
    items: arrayOf(Item),
    delivery: nullable(Delivery, '`null` where nothing is delivered.'),
    payments: arrayOf(Payment),
    coupon: nullable(part('OrderCoupon', 'The coupon that was used.', { id: nullable(Id), code: nullable(Text) })),
    status_history: arrayOf(
      part('OrderStatusChange', 'A status that an order has had.', {
        status: nullable(OrderStatus),
        at: nullable(LocalDateTime),
      }),
      'The way so far, oldest first as the store sends it.',
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

const OpeningHours = part('OpeningHours', 'One span of opening hours. A day may have several, or none.', {
  weekday: nullable(enumOf('Weekday', WEEKDAYS, 'A day of the week.')),
  opens: nullable(ClockTime, 'Local store time, `HH:MM`.'),
  closes: nullable(ClockTime, 'Local store time, `HH:MM`; `24:00` is the end of the day.'),
});

export const StoreInfo = record(
  'StoreInfo',
  'The store that the key belongs to.',
  {
    id: Id,
    name: described(Text, 'The name that customers know.'),
    legal_name: nullable(Text, 'The registered name (razão social).'),
    document: nullable(Text, 'The CNPJ or CPF, as the store writes it.'),
    phone: nullable(Text),
    email: nullable(Text),
    status: enumOf('StoreStatus', ['active', 'blocked'], 'Tokens of a blocked store are refused.'),
    timezone_offset: described(TimezoneOffset, 'Append it to any date-time of this store to get the instant.'),
    currency: described({ type: 'string', const: 'BRL' }, 'The currency of every amount.'),
    order_types: arrayOf(OrderType, 'The ways in which orders can be placed.'),
    minimum_order_value: nullable(Money, 'The least that an order must come to.'),
    address: nullable(Address),
    opening_hours: arrayOf(OpeningHours),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.store,
);

export const [CouponSummary, Coupon] = summaryAndWhole(
  'Coupon',
  'A coupon',
  {
    id: Id,
    code: described(Text, 'What the customer enters.'),
    description: nullable(Text),
    discount_type: enumOf(
      'DiscountType',
      DISCOUNT_TYPES,
      'Whether `discount_value` is a percentage or an amount in BRL; `free_delivery` takes off the delivery fee.',
    ),
    discount_value: described(Money, 'A percentage is written like an amount: `15.00` is 15 %.'),
    minimum_order_value: nullable(Money, 'The least that an order must come to.'),
    active: described(Flag, 'Whether the store has switched it on.'),
    starts_at: nullable(LocalDateTime, 'From when it can be used.'),
    ends_at: nullable(LocalDateTime, 'Until when it can be used.'),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  {
    maximum_discount: nullable(Money, 'The most that it takes off one order.'),
    usage_limit: nullable(Whole, 'How often it can be used by all customers together.'),
    usage_count: nullable(Whole, 'How often it was used so far.'),
    per_customer_limit: nullable(Whole, 'How often one customer can use it.'),
    order_types: arrayOf(OrderType, 'The order types that it holds for.'),
  },
  examples.coupon,
);

export const Customer = record(
  'Customer',
  'A customer of the store. This is personal data: the LGPD applies to whoever stores it.',
  {
    id: Id,
    name: Text,
    document: nullable(Text, 'The CPF or CNPJ, as the store writes it.'),
    phone: nullable(Text),
    email: nullable(Text),
    birth_date: nullable({ type: 'string', format: 'date' }, 'A calendar date, `YYYY-MM-DD`.'),
    accepts_marketing: described(Flag, 'Whether the customer agreed to be sent campaigns.'),
    addresses: arrayOf(Address),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.customer,
);

/** From 1 to 5 stars, as filters ask for them too. */
export const Rating = component('Rating', {
  type: 'integer',
  description: 'Stars, 5 the best.',
  minimum: 1,
  maximum: 5,
});

export const [ReviewSummary, Review] = summaryAndWhole(
  'Review',
  'A review',
  {
    id: Id,
    order_id: nullable(Id, 'The order that it is about.'),
    customer_id: nullable(Id),
    customer_name: CustomerName,
    rating: Rating,
    comment: nullable(Text),
    created_at: described(LocalDateTime, 'When the customer wrote it.'),
  },
  {
    reply: nullable(Text, 'The store’s reply.'),
    replied_at: nullable(LocalDateTime, 'When the store replied.'),
  },
  examples.review,
);

export const CampaignStatus = enumOf('CampaignStatus', CAMPAIGN_STATUSES, 'The state of a campaign.');

export const [CampaignSummary, Campaign] = summaryAndWhole(
  'Campaign',
  'A campaign',
  {
    id: Id,
    name: Text,
    channel: enumOf('CampaignChannel', CAMPAIGN_CHANNELS, 'How its messages are sent.'),
    status: CampaignStatus,
    starts_at: nullable(LocalDateTime),
    ends_at: nullable(LocalDateTime),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  {
    message: nullable(Text, 'The text that is sent.'),
    audience: nullable(Text, 'The recipients, in words.'),
    coupon_id: nullable(Id, 'The coupon that it promotes.'),
    sent_count: nullable(Whole),
    delivered_count: nullable(Whole),
    converted_count: nullable(Whole, 'How many orders it led to.'),
  },
  examples.campaign,
);
