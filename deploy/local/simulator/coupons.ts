/** The coupons that every store gives out, whom they are for, and what each takes off an order. */
import { Type } from 'typebox';
import { CouponState } from '#shared/events/entities/coupon.ts';
import { OrderType as OrderTypes } from '#shared/events/entities/order.ts';
import type { OrderType } from './entities/order-journey.ts';
import { orNull, readData } from './data/read.ts';
import { percentOf } from './money.ts';

const CouponTerms = Type.Object({
  id: Type.String(),
  code: Type.String(),
  description: Type.String(),
  discountType: CouponState.properties.discount_type,
  /** Percent or cents, as the type has it; zero for a free delivery. */
  value: Type.Integer(),
  /** The smallest subtotal it is for, in cents. */
  minimumOrder: Type.Integer(),
  /** The most it takes off, in cents. */
  maximumDiscount: orNull(Type.Integer()),
  orderTypes: Type.Array(OrderTypes),
  perCustomerLimit: orNull(Type.Integer()),
  /** How often it may be used, and how often it was used before the orders that the simulator knows. */
  usage: Type.Object({ limit: orNull(Type.Integer()), before: Type.Integer() }),
  /** Days from now at which it begins and ends. */
  days: Type.Object({ from: Type.Integer(), to: orNull(Type.Integer()) }),
});
export type CouponTerms = Type.Static<typeof CouponTerms>;

export const COUPONS = readData('coupons', Type.Array(CouponTerms));

/** Whether an order of now or of the past thirty days may name the coupon. */
export function isUsable(coupon: CouponTerms, type: OrderType, subtotal: number): boolean {
  const { days, orderTypes, minimumOrder } = coupon;
  const isCurrent = days.from < 0 && (days.to === null || days.to > 0);
  return isCurrent && orderTypes.includes(type) && subtotal >= minimumOrder;
}

/** What a coupon takes off, in cents; never more than the order costs. */
export function discountOf(coupon: CouponTerms, subtotal: number, deliveryFee: number): number {
  if (coupon.discountType === 'free_delivery') return deliveryFee;
  const discount = coupon.discountType === 'fixed' ? coupon.value : percentOf(subtotal, coupon.value);
  return Math.min(discount, subtotal, coupon.maximumDiscount ?? discount);
}
