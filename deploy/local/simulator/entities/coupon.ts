/** Coupons of a store: their terms (`data/coupons.yaml`), what each takes off an order, their records, and how often orders have named them. */
import { Type } from 'typebox';
import { CouponState } from '#shared/events/entities/coupon.ts';
import { OrderType as OrderTypes } from '#shared/events/entities/order.ts';
import { orNull, readData } from '../data/read.ts';
import { instant, localDay } from '../instant.ts';
import { money, percentOf } from '../money.ts';
import type { OrderType } from './order-journey.ts';
import type { SimulatedStore } from './store.ts';

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

/** Coupons are made so many days before they begin. */
const PREPARED_DAYS = 14;

/** How often the orders of one environment have named each coupon of each store, whatever became of the orders. */
export class CouponUsage {
  readonly #counts = new Map<string, number>();

  count(storeId: string, couponId: string): void {
    const key = `${storeId}/${couponId}`;
    this.#counts.set(key, this.of(storeId, couponId) + 1);
  }

  of(storeId: string, couponId: string): number {
    return this.#counts.get(`${storeId}/${couponId}`) ?? 0;
  }
}

export interface CouponOrigin {
  store: SimulatedStore;
  usage: CouponUsage;
  /** The day from which the coupon's days count. */
  now: number;
}

/** The record of each coupon. */
export function couponStates(origin: CouponOrigin): { id: string; state: CouponState }[] {
  return COUPONS.map((terms) => ({ id: terms.id, state: couponState(origin, terms) }));
}

/** The record of a coupon that was used just now; `null` where there is none with this id. */
export function usedCoupon(origin: CouponOrigin, id: string, usedAt: number): CouponState | null {
  const terms = COUPONS.find((terms) => terms.id === id);
  return terms === undefined ? null : { ...couponState(origin, terms), updated_at: instant(usedAt) };
}

function couponState({ store, usage, now }: CouponOrigin, terms: CouponTerms): CouponState {
  const { from, to } = terms.days;
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  const created = day(Math.min(from, 0) - PREPARED_DAYS);
  return {
    code: terms.code,
    description: terms.description,
    discount_type: terms.discountType,
    // Of percent, too, two decimals: `10.00`.
    discount_value: terms.discountType === 'percentage' ? money(terms.value * 100) : money(terms.value),
    minimum_order_value: money(terms.minimumOrder),
    active: to === null || to > 0,
    starts_at: day(from),
    ends_at: to === null ? null : day(to),
    maximum_discount: terms.maximumDiscount === null ? null : money(terms.maximumDiscount),
    usage_limit: terms.usage.limit,
    usage_count: terms.usage.before + usage.of(store.id, terms.id),
    per_customer_limit: terms.perCustomerLimit,
    order_types: terms.orderTypes.filter((type) => store.cuisine.indoor || type !== 'indoor'),
    created_at: created,
    updated_at: created,
  };
}
