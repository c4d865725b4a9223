/** Coupons: the list record and the details answer (rule R9.4). */
import { Type } from 'typebox';
import { DISCOUNT_TYPES } from '#shared/events/entities/coupon.ts';
import examples from './examples.json' with { type: 'json' };
import { as, Flag, Id, LocalDateTime, Money, nullable, record, Text, Whole, words } from './fields.ts';
import { OrderType } from './order.ts';

const summary = {
  id: Id,
  code: as(Text, 'What the customer enters.'),
  description: nullable(Text),
  discount_type: words(
    'DiscountType',
    DISCOUNT_TYPES,
    'Whether `discount_value` is a percentage or an amount in BRL; `free_delivery` takes off the delivery fee.',
  ),
  discount_value: as(Money, 'A percentage is written like an amount: `15.00` is 15 %.'),
  minimum_order_value: nullable(Money, 'The least that an order must come to.'),
  active: as(Flag, 'Whether the store has switched it on.'),
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
