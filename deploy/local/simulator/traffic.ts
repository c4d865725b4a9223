/**
 * The living flow: new orders, each moving through its statuses, new customers, and customers that change.
 * Opening hours count for the past only: whoever looks on at four in the morning shall see something happen.
 */
import {
  changedCustomer,
  type CustomerOrigin,
  newCustomer,
  regularCustomer,
  type SimulatedCustomer,
} from './entities/customer.ts';
import { orderState, placeOrder, type SimulatedOrder } from './entities/order.ts';
import type { SimulatedStore } from './entities/store.ts';
import type { SimulatedEvent } from './event.ts';
import { regularCustomers } from './history.ts';
import { type Chance, draw, happens } from './random.ts';
import { Timetable } from './timetable.ts';

/** A minute of the kitchen passes in a second. */
export const PACE = 60;

const NEW_CUSTOMER_PERCENT = 12;
const CHANGED_CUSTOMER_PERCENT = 4;
const PER_MINUTE = 60_000;

export interface TrafficOptions {
  seed: number;
  environment: string;
  stores: readonly SimulatedStore[];
  /** Orders that each store has behind it. */
  history: number;
  /** Of all stores together. */
  ordersPerMinute: number;
  now: number;
}

interface UnderWay {
  store: SimulatedStore;
  order: SimulatedOrder;
  /** When it made each step so far. */
  times: number[];
}

/** The flow of one environment. It has no clock of its own: `until` is told what time it is. */
export class Traffic {
  readonly #options: TrafficOptions;
  readonly #underWay = new Timetable<UnderWay>();
  /** Leads the ids of this run, and the versions of customers that it changes: above those of earlier runs. */
  readonly #run: number;
  #placed = 0;
  #changes = 0;
  #time: number;
  /** Orders that are due; the first one at once. */
  #due = 1;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#run = Math.floor(options.now / 1_000);
    this.#time = options.now;
  }

  /** What happened since the last call, in order. */
  until(now: number): SimulatedEvent[] {
    this.#due += ((now - this.#time) * this.#options.ordersPerMinute) / PER_MINUTE;
    this.#time = now;
    const events = this.#underWay.takeUntil(now).map((underWay) => this.#step(underWay, now));
    for (; this.#due >= 1; this.#due -= 1) events.push(...this.#place(now));
    return events;
  }

  #place(now: number): SimulatedEvent[] {
    const { seed, environment, stores, history } = this.#options;
    this.#placed += 1;
    const number = this.#placed;
    return draw(seed, ['traffic', environment, number], (chance) => {
      const store = chance.helpers.weightedArrayElement(
        stores.map((store) => ({ weight: store.popularity, value: store })),
      );
      const { customer, event } = this.#customer(chance, store, now);
      const id = `o${this.#run}-${number}`;
      const order = placeOrder(chance, store, customer, { id, number: history + number, at: now });
      const placed = this.#step({ store, order, times: [] }, now);
      return event === null ? [placed] : [event, placed];
    });
  }

  /** Whose order it is; most know the store. */
  #customer(
    chance: Chance,
    store: SimulatedStore,
    now: number,
  ): { customer: SimulatedCustomer; event: SimulatedEvent | null } {
    if (happens(chance, NEW_CUSTOMER_PERCENT)) {
      const customer = newCustomer(chance, store, `c${this.#run}-${this.#placed}`, now);
      return { customer, event: customerEvent(store, customer, 1) };
    }
    const { seed, environment, history, now: began } = this.#options;
    const origin: CustomerOrigin = { seed, environment, store, now: began };
    const known = regularCustomer(origin, chance.number.int({ min: 1, max: regularCustomers(history) }));
    if (!happens(chance, CHANGED_CUSTOMER_PERCENT)) return { customer: known, event: null };
    const customer = changedCustomer(chance, store, known, now);
    this.#changes += 1;
    return { customer, event: customerEvent(store, customer, this.#run + this.#changes) };
  }

  /** Moves an order one step on, and notes when the next one is due. */
  #step(underWay: UnderWay, now: number): SimulatedEvent {
    const { store, order, times } = underWay;
    times.push(now);
    const { steps } = order.journey;
    const [last, next] = [steps[times.length - 1], steps[times.length]];
    if (next !== undefined) {
      this.#underWay.add(now + (next.after - (last?.after ?? 0)) / PACE, underWay);
    }
    return {
      entity: 'order',
      storeId: store.id,
      subject: order.id,
      sequence: times.length,
      data: orderState(order, times),
    };
  }
}

function customerEvent(
  store: SimulatedStore,
  { id, state }: SimulatedCustomer,
  sequence: number,
): SimulatedEvent {
  return { entity: 'customer', storeId: store.id, subject: id, sequence, data: state };
}
