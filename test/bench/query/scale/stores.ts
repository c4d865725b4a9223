/** Stores whose depth is measured: the same three years, with more or fewer orders and customers in them. */
import {
  type BenchStore,
  type Clock,
  customerRecord,
  type EntityRecord,
  fullNameAmongMany,
  type StoreRecord,
} from '../stores/record.ts';
import { reviewRecord } from '../stores/stores.ts';
import { orderRecord } from '../stores/order.ts';
import { storeRecord } from '../stores/store.ts';

/** How many records a store has; 0 where a kind is not asked for. */
export interface Size {
  orders: number;
  customers: number;
}

export interface ScaleStore extends Size {
  storeId: string;
  clock: Clock;
}

/** The depth that all others are compared with. */
export const SHALLOW = 10_000;
const BEGIN = Date.parse('2023-06-01T12:00:00Z');
const DAY_MS = 86_400_000;
const SPAN_MS = 3 * 365 * DAY_MS;
/** A year in the middle of the span, in local time. */
export const YEAR = 'created_from=2024-06-01T00:00:00&created_to=2025-05-31T23:59:59';
/** A month in the middle of the span, in local time. */
export const MONTH = 'created_from=2024-11-01T00:00:00&created_to=2024-11-30T23:59:59';

const NEIGHBOURS = 19;
const NEIGHBOUR_ORDERS = 500;

const CHANGES = 20;
const CHANGES_BEGIN = BEGIN + SPAN_MS + 30 * DAY_MS;
/** What has changed since the changes began, in the store's local time (UTC-4). */
export const CHANGED = `updated_from=${new Date(CHANGES_BEGIN - 4 * 3_600_000).toISOString().slice(0, 19)}`;

/** The stores of a run, the deepest first: as many records as asked for, a tenth of them where that is still many, and 10,000. */
export function scaleStores({ orders, customers }: Size): [ScaleStore, ...ScaleStore[]] {
  const most = Math.max(orders, customers);
  const parts = [most / 10, SHALLOW].filter((records) => records >= SHALLOW && records < most);
  const sizes = [...new Set(parts)].map((records) => records / most);
  return [scaleStore(orders, customers), ...sizes.map((part) => scaleStore(orders * part, customers * part))];
}

function scaleStore(orders: number, customers: number): ScaleStore {
  const most = Math.floor(Math.max(orders, customers));
  // An odd step has no common factor with the length of a second: fractions vary.
  const step = Math.floor(SPAN_MS / most) | 1;
  return {
    storeId: `with-${most}`,
    orders: Math.floor(orders),
    customers: Math.floor(customers),
    clock: (index) => new Date(BEGIN + index * step).toISOString(),
  };
}

/** Reviews come with the orders of the deepest store. */
export function reviewsOf({ orders }: Size): number {
  return Math.floor(orders / 10);
}

/** Small stores whose clients come at the same time as those of the deepest. */
export function neighbourStores({ orders }: Size): ScaleStore[] {
  return Array.from({ length: orders > 0 ? NEIGHBOURS : 0 }, (_, index) => ({
    ...scaleStore(NEIGHBOUR_ORDERS, 0),
    storeId: `neighbour-${index}`,
  }));
}

/** The store as it is filled in. @param isDeepest whether it has reviews and changes. */
export function contentOf({ storeId, clock, ...size }: ScaleStore, isDeepest: boolean): BenchStore {
  const { orders, customers } = size;
  const reviews = isDeepest ? reviewsOf(size) : 0;
  // Orders name customers whether or not the store has records of them.
  const people = Math.max(customers, Math.ceil(orders / 20));
  function* records(): Generator<StoreRecord> {
    yield storeRecord(storeId);
    for (let index = 0; index < customers; index += 1) {
      yield customerRecord(index, clock, fullNameAmongMany(index));
    }
    for (let index = 0; index < orders; index += 1) yield orderRecord(index, people, clock);
    for (let index = 0; index < reviews; index += 1) yield reviewRecord(index, people, clock);
  }
  return {
    storeId,
    size: 1 + customers + orders + reviews,
    records: { [Symbol.iterator]: records },
    changes: isDeepest && orders > 0 ? changesOf(orders, people, clock) : [],
  };
}

/** Orders from all over the store that changed within five minutes, long after the last one was created. */
function changesOf(orders: number, people: number, clock: Clock): EntityRecord<'order'>[] {
  return Array.from({ length: CHANGES }, (_, change) => {
    const order = orderRecord(Math.floor((orders / CHANGES) * change), people, clock);
    const updatedAt = new Date(CHANGES_BEGIN + 1_000 + change * 14_567).toISOString();
    return { ...order, state: { ...order.state, status: 'cancelled', updated_at: updatedAt } };
  });
}
