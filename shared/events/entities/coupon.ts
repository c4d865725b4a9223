/** The state of a coupon, as `store-data.coupon.changed` carries it (rules R9.4, R12.3). */
import { Type } from 'typebox';
import { LIST_BOUNDS } from '../bounds.ts';
import { absent, Flag, Instant, listOf, Money, Prose, Text, Whole } from '../fields.ts';
import { OrderType } from './order.ts';

export const DISCOUNT_TYPES = ['percentage', 'fixed', 'free_delivery'] as const;

export const CouponState = Type.Object({
  code: Text,
  description: absent(Prose),
  discount_type: Type.Enum([...DISCOUNT_TYPES]),
  discount_value: Money,
  minimum_order_value: absent(Money),
  active: Flag,
  starts_at: absent(Instant),
  ends_at: absent(Instant),
  maximum_discount: absent(Money),
  usage_limit: absent(Whole),
  usage_count: absent(Whole),
  per_customer_limit: absent(Whole),
  order_types: absent(listOf(OrderType, LIST_BOUNDS.order_types)),
  created_at: Instant,
  updated_at: absent(Instant),
});
export type CouponState = Type.Static<typeof CouponState>;
