/** Coupons of a store: their terms (`data/coupons.yaml`), what each takes off an order, their records, and how often orders have named them. */
import { Type } from 'typebox';
import { CouponState } from '#shared/events/entities/coupon.ts';
import { orNull, readData } from '../data/read.ts';
import { instant, localDay } from '../instant.ts';
import { cents, percentOf } from '../money.ts';
import type { OrderType } from './order-journey.ts';
import type { SimulatedStore } from './store.ts';

/** A record but for its times; `usage_count` says how often it was used before the orders that the simulator knows. */
const CouponTerms = Type.Intersect([
  Type.Omit(CouponState, ['active', 'starts_at', 'ends_at', 'created_at', 'updated_at']),
  Type.Object({
    id: Type.String(),
    usage_count: Type.Integer(),
    /** Days from now at which it begins and ends. */
    days: Type.Object({ from: Type.Integer(), to: orNull(Type.Integer()) }),
  }),
]);
export type CouponTerms = Type.Static<typeof CouponTerms>;

export const COUPONS = readData('coupons', Type.Array(CouponTerms));

/** Whether an order of now or of the past thirty days may name the coupon. */
export function isUsable(coupon: CouponTerms, type: OrderType, subtotal: number): boolean {
  const { days, order_types: types, minimum_order_value: minimum } = coupon;
  const isCurrent = days.from < 0 && (days.to === null || days.to > 0);
  return isCurrent && types?.includes(type) === true && subtotal >= cents(minimum ?? '0');
}

/** What a coupon takes off, in cents; never more than the order costs. */
export function discountOf(coupon: CouponTerms, subtotal: number, deliveryFee: number): number {
  const { discount_type: type, discount_value: value, maximum_discount: most } = coupon;
  if (type === 'free_delivery') return deliveryFee;
  const discount = type === 'fixed' ? cents(value) : percentOf(subtotal, cents(value) / 100);
  return Math.min(discount, subtotal, most ? cents(most) : discount);
}

/** Coupons are made so many days before they begin. */
const PREPARED_DAYS = 14;

/** How often the orders of one environment have named each coupon of each store, whatever became of the orders. */
export class CouponUsage {
  readonly #counts = new Map<string, number>();

  count(storeId: string, couponId: string): void {
    this.#counts.set(`${storeId}/${couponId}`, this.of(storeId, couponId) + 1);
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

/** The record of each coupon, by its id; `usedAt` is when they were used last. */
export function couponStates({ store, usage, now }: CouponOrigin, usedAt?: number): Map<string, CouponState> {
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  return new Map(
    COUPONS.map(({ id, days: { from, to }, ...terms }): [string, CouponState] => {
      const created = day(Math.min(from, 0) - PREPARED_DAYS);
      const state = {
        ...terms,
        active: to === null || to > 0,
        starts_at: day(from),
        ends_at: to === null ? null : day(to),
        usage_count: terms.usage_count + usage.of(store.id, id),
        order_types: (terms.order_types ?? []).filter((type) => store.cuisine.indoor || type !== 'indoor'),
        created_at: created,
        updated_at: usedAt === undefined ? created : instant(usedAt),
      };
      return [id, state];
    }),
  );
}
