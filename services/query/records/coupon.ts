/** Coupons: the list record and the details answer (rule R9.4). */
import { Type } from 'typebox';
import { DISCOUNT_TYPES } from '#shared/events/entities/coupon.ts';
import { as, Flag, Id, LocalDateTime, Money, nullable, record, Text, Whole, words } from './fields.ts';
import { OrderType } from './order-words.ts';

const example = {
  id: 'k15',
  code: 'PIZZA15',
  description: '15% de desconto em pedidos acima de R$ 60,00',
  discount_type: 'percentage',
  discount_value: '15.00',
  minimum_order_value: '60.00',
  active: true,
  starts_at: '2026-11-01T00:00:00',
  ends_at: '2026-11-30T23:59:59',
  created_at: '2026-10-28T09:12:40',
  updated_at: '2026-11-02T17:05:11',
};

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

export const CouponSummary = record('CouponSummary', 'A coupon, as lists show it.', summary, example);

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
  {
    ...example,
    maximum_discount: '30.00',
    usage_limit: 500,
    usage_count: 132,
    per_customer_limit: 1,
    order_types: ['delivery', 'takeout'],
  },
);
