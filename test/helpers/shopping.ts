/** Orders and customers of several stores, created, changed and deleted, as a shop would publish them. */
import { ORDER, type TestEvent } from './events.ts';

export interface Shopping {
  events: number;
  /** How many different orders and customers there are. */
  orders: number;
  customers: number;
  stores: readonly string[];
  /** Of every event; now when absent. */
  time?: Date;
}

/** The events; each order and customer comes again with the next version. */
export function shopping({ events, orders, customers, stores, time }: Shopping): TestEvent[] {
  return Array.from({ length: events }, (_, index): TestEvent => {
    const event = {
      storeId: stores[index % stores.length] ?? '',
      sequence: Math.floor(index / orders),
      ...(time !== undefined && { time }),
    };
    if (index % 10 === 9) {
      const data = { name: `Cliente ${index % customers}`, created_at: ORDER.created_at };
      const state = index % 50 === 49 ? ({ action: 'deleted' } as const) : { data };
      return { ...event, entity: 'customer', subject: `c${index % customers}`, ...state };
    }
    const data = {
      ...ORDER,
      status: event.sequence === 0 ? 'pending' : 'confirmed',
      total: `${index}.00`,
      customer: { id: `c${(index * 7) % customers}`, name: 'Maria', phone: '11 9' },
      created_at: new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString(),
    };
    return { ...event, entity: 'order', subject: `o${index % orders}`, data };
  });
}
