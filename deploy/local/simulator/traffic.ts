/**
 * Live traffic: new orders, each moving through its statuses, reviews, new customers, and menus that change.
 * Opening hours count for the past only: somebody who watches at four in the morning wants to see something happen.
 */
import { customer, type Origin, regularCustomer, regularCustomers } from './customer.ts';
import { eventOf, type SimulatedEvent } from './event.ts';
import { changedProduct } from './menu.ts';
import { orderState, placeOrder, review, type SimulatedOrder } from './order.ts';
import { chanceOf, happens } from './random.ts';
import type { SimulatedStore } from './store.ts';
import { instant, MINUTE } from './values.ts';

/** A minute of the kitchen passes in a second. */
export const PACE = 60;
const NEW_CUSTOMER_PERCENT = 12;
const MENU_CHANGE_PERCENT = 8;
/** After the order's end. */
const REVIEW_MS = 10_000;

/** `now` is when the history was made. */
export interface TrafficOptions extends Omit<Origin, 'store'> {
  stores: readonly SimulatedStore[];
  /** Orders that each store has behind it. */
  history: number;
  /** Of all stores together; the first one comes at once. */
  ordersPerMinute: number;
  began: number;
}

/** The flow of one environment: the result answers, at some time, what happened since it was last called, in order. */
export function traffic(options: TrafficOptions): (now: number) => SimulatedEvent[] {
  const { environment, history, ordersPerMinute, began } = options;
  const stores = [...options.stores];
  const chance = chanceOf(options.seed, ['traffic', environment]);
  // Leads the ids of this run: others than those of earlier runs.
  const run = Math.floor(began / 1_000);
  let ahead: { at: number; happen: (now: number) => SimulatedEvent }[] = [];
  let [time, due, placed, version] = [began, 1, 0, 0];

  /** Moves an order one step on, and notes when the next one is due, or what is written about it. */
  function step(store: SimulatedStore, order: SimulatedOrder, times: number[], now: number): SimulatedEvent {
    const [last, next] = order.journey.slice(times.length);
    times.push(now);
    if (next === undefined) {
      const written = review(chance, store, order, now + REVIEW_MS);
      if (written !== null) ahead.push({ at: now + REVIEW_MS, happen: () => written });
    } else {
      const at = now + (next.after - (last?.after ?? 0)) / PACE;
      ahead.push({ at, happen: (then) => step(store, order, times, then) });
    }
    return eventOf(store, 'order', order.id, orderState(order, times), times.length);
  }

  function place(now: number): SimulatedEvent[] {
    placed += 1;
    const index = chance.number.int(stores.length - 1);
    const store = stores[index] as SimulatedStore;
    const number = chance.number.int({ min: 1, max: regularCustomers(history) });
    const isNew = happens(chance, NEW_CUSTOMER_PERCENT);
    const person = isNew
      ? customer(chance, store, `c${run}-${placed}`, now)
      : regularCustomer({ ...options, store }, number);
    const order = { id: `o${run}-${placed}`, number: history + placed, at: now };
    const events = isNew ? [eventOf(store, 'customer', person.id, person.state)] : [];
    events.push(step(store, placeOrder(chance, store, person, order), [], now));
    if (happens(chance, MENU_CHANGE_PERCENT)) {
      const [id, product] = changedProduct(chance, store.menu, instant(now));
      const products = new Map([...store.menu.products, [id, product]]);
      stores[index] = { ...store, menu: { ...store.menu, products } };
      // Above the versions of earlier runs.
      version = Math.max(version + 1, now);
      events.push(eventOf(store, 'product', id, product, version));
    }
    return events;
  }

  return (now) => {
    due += ((now - time) * ordersPerMinute) / MINUTE;
    time = now;
    const happening = ahead.filter(({ at }) => at <= now).toSorted((a, b) => a.at - b.at);
    ahead = ahead.filter(({ at }) => at > now);
    const events = happening.map(({ happen }) => happen(now));
    for (; due >= 1; due -= 1) events.push(...place(now));
    return events;
  };
}
