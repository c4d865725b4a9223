/** Coupons of a store: their terms as a record, and how often orders have named them. */
import type { CouponState } from '#shared/events/entities/coupon.ts';
import { COUPONS, type CouponTerms } from '../coupons.ts';
import { instant, localDay } from '../instant.ts';
import { money } from '../money.ts';
import type { SimulatedStore } from './store.ts';

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
