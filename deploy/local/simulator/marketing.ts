/** Coupons and campaigns of a store, as `data/` has them, and what a coupon takes off an order. */
import { CAMPAIGNS, COUPONS } from './data/read.ts';
import type { Origin } from './customer.ts';
import { eventOf, type SimulatedEvent } from './event.ts';
import type { ORDER_TYPES } from '#shared/events/entities/order.ts';
import { type Chance, happens, pick } from './random.ts';
import { cents, instant, localDay, percentOf } from './values.ts';

/** Before any of them begins. */
const CREATED_DAY = -100;

/** The coupon that an order of now or of the past thirty days names, if any, and the cents that it takes off. */
export function redeemed(
  chance: Chance,
  type: (typeof ORDER_TYPES)[number],
  subtotal: number,
  deliveryFee: number,
) {
  const usable = COUPONS.filter(
    ({ days: { from, to }, order_types: types, minimum_order_value: minimum }) => {
      const isCurrent = from < 0 && (to === null || to > 0);
      return isCurrent && types?.includes(type) === true && subtotal >= cents(minimum ?? '0');
    },
  );
  if (usable.length === 0 || !happens(chance, 18)) return { coupon: null, discount: 0 };
  const {
    id,
    code,
    discount_type: kind,
    discount_value: value,
    maximum_discount: most,
  } = pick(chance, usable);
  const cut = kind === 'fixed' ? cents(value) : percentOf(subtotal, cents(value) / 100);
  const discount = kind === 'free_delivery' ? deliveryFee : Math.min(cut, cents(most ?? value));
  return { coupon: discount > 0 ? { id, code } : null, discount };
}

/** The store's coupons; `used` says how often each has been named by an order. */
export function coupons({ store, now }: Origin, used: ReadonlyMap<string, number>): SimulatedEvent[] {
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  return COUPONS.map(({ id, days: { from, to }, ...terms }) => {
    const created_at = day(CREATED_DAY);
    return eventOf(store, 'coupon', id, {
      ...terms,
      active: to === null || to > 0,
      starts_at: day(from),
      ends_at: to === null ? null : day(to),
      usage_count: (terms.usage_count ?? 0) + (used.get(id) ?? 0),
      order_types: (terms.order_types ?? []).filter((type) => store.cuisine.indoor || type !== 'indoor'),
      created_at,
      updated_at: created_at,
    });
  });
}

/** The campaigns of a store with so many customers. */
export function campaigns({ store, now }: Origin, customers: number): SimulatedEvent[] {
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  return CAMPAIGNS.map(({ days, message, ...terms }, index) => {
    const created_at = day(CREATED_DAY);
    const hasBegun = terms.status === 'running' || terms.status === 'finished';
    const sent = hasBegun ? percentOf(customers, 40 + 5 * index) : 0;
    return eventOf(store, 'campaign', `m${index + 1}`, {
      ...terms,
      starts_at: days === null ? null : day(days.from),
      ends_at: days === null ? null : day(days.to),
      message: message.replace('{}', store.record.name),
      sent_count: sent,
      delivered_count: percentOf(sent, 95),
      converted_count: percentOf(sent, 12),
      created_at,
      updated_at: created_at,
    });
  });
}
