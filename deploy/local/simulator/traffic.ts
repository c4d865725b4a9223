/**
 * The living flow: new orders, each moving through its statuses, what customers say of them, new customers,
 * customers that change, coupons in use, and menus that change.
 * Opening hours count for the past only: somebody who watches at four in the morning wants to see something happen.
 */
import { type CouponUsage, couponStates } from './entities/coupon.ts';
import {
  changedCustomer,
  customer,
  type CustomerOrigin,
  regularCustomer,
  type SimulatedCustomer,
} from './entities/customer.ts';
import { orderState, placeOrder, type SimulatedOrder } from './entities/order.ts';
import { orderReview, repliedReview } from './entities/review.ts';
import type { SimulatedStore } from './entities/store.ts';
import { eventOf, type SimulatedEvent } from './event.ts';
import { regularCustomers } from './history.ts';
import { LivingMenus } from './living-menus.ts';
import { type Chance, draw, happens } from './random.ts';
import { Timetable } from './timetable.ts';

/** A minute of the kitchen passes in a second. */
export const PACE = 60;

const NEW_CUSTOMER_PERCENT = 12;
const CHANGED_CUSTOMER_PERCENT = 4;
/** Menus change now and then while orders come in, however many they are. */
const MENU_CHANGE_PERCENT = 8;
const MENU_CHANGE_PAUSE_MS = 1_000;
const PER_MINUTE = 60_000;
/** After how many minutes of the kitchen customers write, and stores reply: at least and at most. */
const REVIEW_MINUTES = { min: 5, max: 40 };
const REPLY_MINUTES = { min: 10, max: 60 };

export interface TrafficOptions {
  seed: number;
  environment: string;
  stores: readonly SimulatedStore[];
  /** Orders that each store has behind it. */
  history: number;
  /** When the history was made. */
  epoch: number;
  /** How often orders have named each coupon so far. */
  usage: CouponUsage;
  /** Of all stores together. */
  ordersPerMinute: number;
  now: number;
}

interface UnderWay {
  store: SimulatedStore;
  order: SimulatedOrder;
  /** Which of this run's orders it is. */
  number: number;
  /** When it made each step so far. */
  times: number[];
}

/** The flow of one environment. It has no clock of its own: `until` is told what time it is. */
export class Traffic {
  readonly #options: TrafficOptions;
  /** What happens when its time has come. */
  readonly #ahead = new Timetable<(now: number) => SimulatedEvent>();
  readonly #menus = new LivingMenus();
  /** Coupons used since the last call. */
  readonly #used = new Map<string, { store: SimulatedStore; couponId: string }>();
  /** Leads the ids of this run: others than those of earlier runs. */
  readonly #run: number;
  #placed = 0;
  #version = 0;
  #menuChangedAt: number;
  #time: number;
  /** Orders that are due; the first one at once. */
  #due = 1;

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#run = Math.floor(options.now / 1_000);
    this.#time = options.now;
    this.#menuChangedAt = options.now;
  }

  /** What happened since the last call, in order. */
  until(now: number): SimulatedEvent[] {
    this.#due += ((now - this.#time) * this.#options.ordersPerMinute) / PER_MINUTE;
    this.#time = now;
    const events = this.#ahead.takeUntil(now).map((happen) => happen(now));
    for (; this.#due >= 1; this.#due -= 1) events.push(...this.#place(now));
    events.push(...this.#couponEvents(now));
    return events;
  }

  #place(now: number): SimulatedEvent[] {
    const { seed, environment, stores, history, usage } = this.#options;
    this.#placed += 1;
    const number = this.#placed;
    return draw(seed, ['traffic', environment, number], (chance) => {
      const store = chance.helpers.weightedArrayElement(
        stores.map((store) => ({ weight: store.popularity, value: store })),
      );
      const { customer, event } = this.#customer(chance, store, now);
      const id = `o${this.#run}-${number}`;
      const order = placeOrder(chance, this.#menus.present(store), customer, {
        id,
        number: history + number,
        at: now,
      });
      const couponId = order.placed.coupon?.id;
      if (typeof couponId === 'string') {
        usage.count(store.id, couponId);
        this.#used.set(`${store.id}/${couponId}`, { store, couponId });
      }
      const placed = this.#step({ store, order, number, times: [] }, now);
      return [event, placed, this.#menuEvent(chance, store, now)].filter((event) => event !== null);
    });
  }

  /** Whose order it is; most know the store. */
  #customer(
    chance: Chance,
    store: SimulatedStore,
    now: number,
  ): { customer: SimulatedCustomer; event: SimulatedEvent | null } {
    if (happens(chance, NEW_CUSTOMER_PERCENT)) {
      const added = customer(chance, store, `c${this.#run}-${this.#placed}`, now);
      return { customer: added, event: eventOf(store, 'customer', added.id, added.state) };
    }
    const { seed, environment, history, epoch } = this.#options;
    const origin: CustomerOrigin = { seed, environment, store, now: epoch };
    const known = regularCustomer(origin, chance.number.int({ min: 1, max: regularCustomers(history) }));
    if (!happens(chance, CHANGED_CUSTOMER_PERCENT)) return { customer: known, event: null };
    const changed = changedCustomer(chance, store, known, now);
    const event = eventOf(store, 'customer', changed.id, changed.state, this.#nextVersion(now));
    return { customer: changed, event };
  }

  /** Moves an order one step on, and notes when the next one is due. */
  #step(underWay: UnderWay, now: number): SimulatedEvent {
    const { store, order, times } = underWay;
    times.push(now);
    const { steps } = order.journey;
    const [last, next] = [steps[times.length - 1], steps[times.length]];
    if (next !== undefined) {
      this.#ahead.add(now + (next.after - (last?.after ?? 0)) / PACE, (then) => this.#step(underWay, then));
    } else this.#planReview(underWay, now);
    return eventOf(store, 'order', order.id, orderState(order, times), times.length);
  }

  /** Notes when the customer of an order that has ended says something of it, and when the store replies. */
  #planReview({ store, order, number }: UnderWay, now: number): void {
    const { seed, environment } = this.#options;
    draw(seed, ['review', environment, number], (chance) => {
      const createdAt = now + chance.number.int(REVIEW_MINUTES) * (PER_MINUTE / PACE);
      const repliedAt = createdAt + chance.number.int(REPLY_MINUTES) * (PER_MINUTE / PACE);
      const review = orderReview(chance, order, createdAt);
      if (review === null) return;
      this.#ahead.add(createdAt, () => eventOf(store, 'review', review.id, review.state));
      if (review.reply === null) return;
      const replied = repliedReview(review, repliedAt);
      this.#ahead.add(repliedAt, () => eventOf(store, 'review', review.id, replied, 2));
    });
  }

  #menuEvent(chance: Chance, store: SimulatedStore, now: number): SimulatedEvent | null {
    const isDue = happens(chance, MENU_CHANGE_PERCENT) && now - this.#menuChangedAt >= MENU_CHANGE_PAUSE_MS;
    if (!isDue) return null;
    this.#menuChangedAt = now;
    const { epoch } = this.#options;
    return this.#menus.change(chance, store, { now, epoch, sequence: this.#nextVersion(now) });
  }

  /** Each coupon that was used, once, however many orders named it. */
  #couponEvents(now: number): SimulatedEvent[] {
    const { usage, epoch } = this.#options;
    const events = [...this.#used.values()].flatMap(({ store, couponId }): SimulatedEvent[] => {
      const data = couponStates({ store, usage, now: epoch }, now).get(couponId);
      if (data === undefined) return [];
      return [eventOf(store, 'coupon', couponId, data, this.#nextVersion(now))];
    });
    this.#used.clear();
    return events;
  }

  /** The version of something that may have changed in earlier runs: above all of theirs. */
  #nextVersion(now: number): number {
    this.#version = Math.max(this.#version + 1, now);
    return this.#version;
  }
}
