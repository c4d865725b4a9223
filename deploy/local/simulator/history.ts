/** What a store has behind it: its record, its customers, and the orders of the past thirty days in their final states. */
import { type CustomerOrigin, regularCustomer } from './entities/customer.ts';
import { orderState, placeOrder } from './entities/order.ts';
import type { SimulatedEvent } from './event.ts';
import { openInstants } from './opening-hours.ts';
import { draw, oneOf } from './random.ts';

const DAYS = 30;
/** The longest way of an order, and some more: whatever was placed before has come to its end. */
const LATEST_MS = 3 * 3_600_000;
/** Small enough for one request to Kafka, large enough to be worth it. */
const EVENTS_PER_BATCH = 250;

/** How many regular customers a store has for so many orders. */
export function regularCustomers(orders: number): number {
  return Math.max(10, Math.ceil(orders / 4));
}

/** How many events a store's history has. */
export function historyLength(orders: number): number {
  return 1 + regularCustomers(orders) + orders;
}

/** The history of one store in one environment, in batches: every entity once, customers before their orders. */
export function* history(origin: CustomerOrigin, orders: number): Generator<SimulatedEvent[]> {
  let batch: SimulatedEvent[] = [];
  for (const event of events(origin, orders)) {
    batch.push(event);
    if (batch.length === EVENTS_PER_BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

function* events(origin: CustomerOrigin, orders: number): Generator<SimulatedEvent> {
  const { seed, environment, store, now } = origin;
  const ofStore = { storeId: store.id, sequence: 1 };
  yield { ...ofStore, entity: 'store', subject: store.id, data: store.record(now) };

  const customers = Array.from({ length: regularCustomers(orders) }, (_, index) =>
    regularCustomer(origin, index + 1),
  );
  for (const { id, state } of customers) yield { ...ofStore, entity: 'customer', subject: id, data: state };

  const instants = draw(seed, ['instants', environment, store.id], (chance) =>
    openInstants(chance, store, { count: orders, days: DAYS, until: now - LATEST_MS }),
  );
  for (const [index, at] of instants.entries()) {
    const number = index + 1;
    const order = draw(seed, ['order', environment, store.id, number], (chance) =>
      placeOrder(chance, store, oneOf(chance, customers), { id: `o${number}`, number, at }),
    );
    const times = order.journey.steps.map(({ after }) => at + after);
    // An entity's version counts its changes: one for each status it has passed.
    yield {
      entity: 'order',
      storeId: store.id,
      subject: order.id,
      sequence: times.length,
      data: orderState(order, times),
    };
  }
}
