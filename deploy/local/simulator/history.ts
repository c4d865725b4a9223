/**
 * What a store has behind it: its record, its menu, its customers, the orders of the past thirty days in their
 * final states with what was said of them, and its coupons and campaigns.
 */
import { campaigns } from './entities/campaign.ts';
import { couponStates, type CouponUsage } from './entities/coupon.ts';
import { type CustomerOrigin, regularCustomer, type SimulatedCustomer } from './entities/customer.ts';
import { orderState, placeOrder, type SimulatedOrder } from './entities/order.ts';
import { orderReview, repliedReview } from './entities/review.ts';
import { eventOf, productEvent, type SimulatedEvent } from './event.ts';
import { instant } from './instant.ts';
import { openInstants } from './opening-hours.ts';
import { type Chance, draw, pick } from './random.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const DAYS = 30;
/** The longest way of an order, and some more: whatever was placed before has come to its end. */
const LATEST_MS = 3 * HOUR;
/** Small enough for one request to Kafka, large enough to be worth it. */
const EVENTS_PER_BATCH = 250;

/** What the history of one store in one environment is made from. */
export interface HistoryOrigin extends CustomerOrigin {
  orders: number;
  /** Takes down how often the orders name each coupon. */
  usage: CouponUsage;
}

/** How many regular customers a store has for so many orders. */
export function regularCustomers(orders: number): number {
  return Math.max(10, Math.ceil(orders / 4));
}

/** The history of one store in one environment, in batches: every entity once, customers before their orders. */
export function* history(origin: HistoryOrigin): Generator<SimulatedEvent[]> {
  let batch: SimulatedEvent[] = [];
  for (const event of events(origin)) {
    batch.push(event);
    if (batch.length === EVENTS_PER_BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

function* events(origin: HistoryOrigin): Generator<SimulatedEvent> {
  const { store, now, orders } = origin;
  yield eventOf(store, 'store', store.id, store.record(now));
  yield* menuEvents(origin);

  const customers = Array.from({ length: regularCustomers(orders) }, (_, index) =>
    regularCustomer(origin, index + 1),
  );
  for (const { id, state } of customers) yield eventOf(store, 'customer', id, state);
  yield* orderEvents(origin, customers);

  // After the orders, which say how often each was used.
  for (const [id, state] of couponStates(origin)) yield eventOf(store, 'coupon', id, state);
  for (const { id, state } of campaigns(origin, { orders, customers: customers.length })) {
    yield eventOf(store, 'campaign', id, state);
  }
}

function* menuEvents({ seed, store, now }: HistoryOrigin): Generator<SimulatedEvent> {
  const { categories, products, optionGroups } = store.menu;
  const created_at = instant(now - store.age);
  for (const { id, ...category } of categories) {
    yield eventOf(store, 'category', id, { ...category, created_at, updated_at: created_at });
  }
  for (const { id, ...group } of optionGroups) yield eventOf(store, 'option_group', id, group);
  for (const product of products) {
    const age = draw(seed, ['product', store.id, product.id], (chance) =>
      chance.number.int({ min: DAY, max: 60 * DAY }),
    );
    yield productEvent(store, product, { created_at, updated_at: instant(now - age) });
  }
}

function* orderEvents(
  origin: HistoryOrigin,
  customers: readonly SimulatedCustomer[],
): Generator<SimulatedEvent> {
  const { seed, environment, store, now, orders, usage } = origin;
  const instants = draw(seed, ['instants', environment, store.id], (chance) =>
    openInstants(chance, store, { count: orders, days: DAYS, until: now - LATEST_MS }),
  );
  for (const [index, at] of instants.entries()) {
    const number = index + 1;
    const order = draw(seed, ['order', environment, store.id, number], (chance) =>
      placeOrder(chance, store, pick(chance, customers), { id: `o${number}`, number, at }),
    );
    const coupon = order.placed.coupon?.id;
    if (typeof coupon === 'string') usage.count(store.id, coupon);
    const times = order.journey.steps.map(({ after }) => at + after);
    // An entity's version counts its changes: one for each status it has passed.
    yield eventOf(store, 'order', order.id, orderState(order, times), times.length);
    const review = draw(seed, ['review', environment, store.id, number], (chance) =>
      reviewEvent(chance, origin, order, times.at(-1) ?? at),
    );
    if (review !== null) yield review;
  }
}

/** The review of an order that ended then, with its reply; both only if they were written by now. */
function reviewEvent(
  chance: Chance,
  { store, now }: HistoryOrigin,
  order: SimulatedOrder,
  endedAt: number,
): SimulatedEvent | null {
  const createdAt = endedAt + chance.number.int({ min: HOUR / 4, max: 30 * HOUR });
  const repliedAt = createdAt + chance.number.int({ min: HOUR / 2, max: 20 * HOUR });
  const review = orderReview(chance, order, createdAt);
  if (review === null || createdAt > now) return null;
  const isReplied = review.reply !== null && repliedAt <= now;
  const state = isReplied ? repliedReview(review, repliedAt) : review.state;
  return eventOf(store, 'review', review.id, state, isReplied ? 2 : 1);
}
