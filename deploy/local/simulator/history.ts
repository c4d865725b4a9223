/**
 * A store's past: its record, its menu, its customers, the orders of the past thirty days in their
 * final states with their reviews, and its coupons and campaigns.
 */
import { type Origin, regularCustomer, regularCustomers } from './store.ts';
import {
  eventOf,
  type SimulatedEvent,
  chanceOf,
  pick,
  DAY,
  localDay,
  MINUTE,
  instant,
  percentOf,
} from './random.ts';
import { orderState, placeOrder, review } from './order.ts';
import { CAMPAIGNS, COUPONS } from './menu.ts';

const DAYS = 30;
/** Longer than any order takes: an order placed earlier has ended. */
const MAX_LIFE_MS = 180 * MINUTE;

/**
 * The history of one store in one environment: every entity once, customers before their orders.
 */
export function* history(origin: Origin, orders: number): Generator<SimulatedEvent> {
  const { seed, environment, store, now } = origin;
  yield eventOf(store, 'store', store.id, store.record);
  const { categories, optionGroups, products } = store.menu;
  for (const [id, state] of categories) yield eventOf(store, 'category', id, state);
  for (const [id, state] of optionGroups) yield eventOf(store, 'option_group', id, state);
  for (const [id, state] of products) yield eventOf(store, 'product', id, state);

  const numbers = Array.from({ length: regularCustomers(orders) }, (_, index) => index + 1);
  const customers = numbers.map((number) => regularCustomer(origin, number));
  for (const { id, state } of customers) yield eventOf(store, 'customer', id, state);

  const chance = chanceOf(seed, ['orders', environment, store.id]);
  const instants = Array.from(
    { length: orders },
    () => now - MAX_LIFE_MS - chance.number.int(DAYS * DAY),
  );
  const used = new Map<string, number>();
  for (const [index, at] of instants.toSorted((a, b) => a - b).entries()) {
    const place = { id: `o${index + 1}`, number: index + 1, at };
    const order = placeOrder(chance, store, pick(chance, customers), place);
    const { coupon } = order.placed;
    if (coupon?.id) used.set(coupon.id, (used.get(coupon.id) ?? 0) + 1);
    const steps = order.journey.map(({ after }) => at + after);
    // An entity's version counts its changes: one for each status so far.
    yield eventOf(store, 'order', order.id, orderState(order, steps), steps.length);
    const reviewed = review(chance, store, order, (steps.at(-1) ?? at) + MINUTE);
    if (reviewed !== null) yield reviewed;
  }

  yield* offers(origin, used, customers.length);
}

/** Before any of them begins. */
const CREATED_DAY = -100;

/** The store's coupons and campaigns. @param used how many orders name each coupon. */
function* offers({ store, now }: Origin, used: ReadonlyMap<string, number>, customers: number) {
  const day = (days: number) => instant(localDay(now, store.city.timezoneOffset, days));
  const created_at = day(CREATED_DAY);
  const times = { created_at, updated_at: created_at };
  for (const { id, days, ...terms } of COUPONS) {
    yield eventOf(store, 'coupon', id, {
      ...terms,
      active: days.to === null || days.to > 0,
      starts_at: day(days.from),
      ends_at: days.to === null ? null : day(days.to),
      usage_count: (terms.usage_count ?? 0) + (used.get(id) ?? 0),
      order_types: (terms.order_types ?? []).filter(
        (type) => store.cuisine.indoor || type !== 'indoor',
      ),
      ...times,
    });
  }
  for (const [index, { days, message, ...terms }] of CAMPAIGNS.entries()) {
    const hasBegun = terms.status === 'running' || terms.status === 'finished';
    const sent = hasBegun ? percentOf(customers, 40 + 5 * index) : 0;
    yield eventOf(store, 'campaign', `m${index + 1}`, {
      ...terms,
      starts_at: days === null ? null : day(days.from),
      ends_at: days === null ? null : day(days.to),
      message: message.replace('{}', store.record.name),
      sent_count: sent,
      delivered_count: percentOf(sent, 95),
      converted_count: percentOf(sent, 12),
      ...times,
    });
  }
}
