/** The store's own record (rule R9.3) and its coupons (R9.4). */
import { Type } from 'typebox';
import { WEEKDAYS, DISCOUNT_TYPES } from '#shared/events/entities.ts';
import examples from './examples.json' with { type: 'json' };
import {
  Address,
  described,
  ClockTime,
  Id,
  LocalDateTime,
  Money,
  nullable,
  part,
  record,
  Text,
  TimezoneOffset,
  enumOf,
  Flag,
  Whole,
} from './fields.ts';
import { OrderType } from './order.ts';

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
    timezone_offset: described(
      TimezoneOffset,
      'Append it to any date-time of this store to get the instant.',
    ),
    currency: described(Type.Literal('BRL'), 'The currency of every amount.'),
    order_types: Type.Array(OrderType, { description: 'The ways in which orders can be placed.' }),
    minimum_order_value: nullable(Money, 'The least that an order must come to.'),
    address: nullable(Address),
    opening_hours: Type.Array(OpeningHours),
    created_at: LocalDateTime,
    updated_at: LocalDateTime,
  },
  examples.store,
);

const summary = {
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
};

export const CouponSummary = record('CouponSummary', 'A coupon, as lists show it.', summary, examples.coupon);

export const Coupon = record(
  'Coupon',
  'A coupon, whole.',
  {
    ...summary,
    maximum_discount: nullable(Money, 'The most that it takes off one order.'),
    usage_limit: nullable(Whole, 'How often it can be used by all customers together.'),
    usage_count: nullable(Whole, 'How often it was used so far.'),
    per_customer_limit: nullable(Whole, 'How often one customer can use it.'),
    order_types: Type.Array(OrderType, { description: 'The order types that it holds for.' }),
  },
  examples.coupon,
);
