/**
 * The simulator: stores that publish their past and then new changes to Kafka, like any other
 * source.
 */
import { createProducer, type Kafka } from '#shared/kafka/client.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { type PeriodicTask, startPeriodicTask } from '#shared/periodic-task.ts';
import { inBatches } from '#shared/waiting.ts';
import {
  asMessage,
  type SimulatedEvent,
  eventOf,
  chanceOf,
  happens,
  MINUTE,
  pick,
} from './random.ts';
import { history } from './history.ts';
import {
  simulatedStore,
  customer,
  type Origin,
  regularCustomer,
  regularCustomers,
  type SimulatedStore,
} from './store.ts';
import { orderState, placeOrder, review, type SimulatedOrder } from './order.ts';

interface SimulatorOptions {
  kafka: Kafka;
  /** The first gets most of the orders; each other one gets a tenth. */
  environments: readonly string[];
  seed: number;
  stores: number;
  history: number;
  ordersPerMinute: number;
  onTrouble: (error: unknown) => void;
}

/** An environment other than the first has one order in so many. */
const QUIETER = 10;
/** Stores that publish their history at once: they spread over the partitions. */
const LANES = 6;
/** Fits one request to Kafka, with few requests for a long history. */
const EVENTS_PER_BATCH = 250;

export async function createSimulator(options: SimulatorOptions) {
  const { kafka, seed, environments } = options;
  const now = Date.now();
  const stores = Array.from({ length: options.stores }, (_, index) => simulatedStore(seed, index));
  const places = environments.map((environment, index) => ({
    environment,
    orders: index === 0 ? options.history : Math.ceil(options.history / QUIETER),
    ordersPerMinute:
      (options.ordersPerMinute * (index === 0 ? QUIETER - environments.length + 1 : 1)) / QUIETER,
  }));
  const producer = createProducer(kafka);
  await producer.connect();
  const stopping = new AbortController();
  let flows: PeriodicTask[] = [];

  const send = async (environment: string, events: readonly SimulatedEvent[]) => {
    await producer.send({ topic: changesTopic(environment), messages: events.map(asMessage) });
  };
  return {
    stores,
    historyOrders: places.reduce((sum, { orders }) => sum + orders, 0) * stores.length,

    /** @param progress gets the number of published orders. */
    async publishHistory(progress: (orders: number) => void): Promise<void> {
      let published = 0;
      const waiting = stores
        .flatMap((store) => places.map((place) => ({ store, ...place })))
        .values();
      const lane = async () => {
        for (const { store, environment, orders } of waiting) {
          const events = history({ seed, environment, store, now }, orders);
          for await (const batch of inBatches(events, EVENTS_PER_BATCH)) {
            if (stopping.signal.aborted) return;
            await send(environment, batch);
            published += batch.filter(({ entity }) => entity === 'order').length;
            progress(published);
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    },

    /** Publishes new orders from now on. What Kafka did not take is sent again. */
    startTraffic(): void {
      if (stores.length === 0) return;
      flows = places.map(({ environment, orders: history, ordersPerMinute }) => {
        const began = Date.now();
        const since = traffic({ seed, environment, now, stores, history, ordersPerMinute, began });
        let unsent: SimulatedEvent[] = [];
        const run = async () => {
          unsent.push(...since(Date.now()));
          // After hours of sleep the events of all of them are too many for one request.
          for (; unsent.length > 0; unsent = unsent.slice(EVENTS_PER_BATCH)) {
            await send(environment, unsent.slice(0, EVENTS_PER_BATCH));
          }
        };
        return startPeriodicTask({ run, everyMs: 100, retryMs: 1_000, failed: options.onTrouble });
      });
    },

    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(flows.map((flow) => flow.stop()));
      await producer.disconnect();
    },
  };
}

/** A minute of an order takes a second. */
export const PACE = 60;
const NEW_CUSTOMER_PERCENT = 12;
/** After the order's end. */
const REVIEW_MS = 10_000;

/** `now`: the time at which the history was made. */
interface TrafficOptions extends Omit<Origin, 'store'> {
  stores: readonly SimulatedStore[];
  history: number;
  /** Of all stores together; the first one comes at once. */
  ordersPerMinute: number;
  began: number;
}

/**
 * The traffic of one environment.
 * @returns a function that returns the events since its last call, in order.
 */
export function traffic(options: TrafficOptions): (now: number) => SimulatedEvent[] {
  const { environment, stores, history, ordersPerMinute, began } = options;
  const chance = chanceOf(options.seed, ['traffic', environment]);
  // Part of the ids, so that no earlier run has the same ones.
  const run = Math.floor(began / 1_000);
  let ahead: { at: number; happen: (now: number) => SimulatedEvent }[] = [];
  let [time, due, placed] = [began, 1, 0];

  /** Takes an order's next step, and schedules the one after it, or the review. */
  function step(
    store: SimulatedStore,
    order: SimulatedOrder,
    times: number[],
    now: number,
  ): SimulatedEvent {
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
    const store = pick(chance, stores);
    const number = chance.number.int({ min: 1, max: regularCustomers(history) });
    const isNew = happens(chance, NEW_CUSTOMER_PERCENT);
    const person = isNew
      ? customer(chance, store, `c${run}-${placed}`, now)
      : regularCustomer({ ...options, store }, number);
    const order = { id: `o${run}-${placed}`, number: history + placed, at: now };
    const events = isNew ? [eventOf(store, 'customer', person.id, person.state)] : [];
    events.push(step(store, placeOrder(chance, store, person, order), [], now));
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
