/** Changes of orders as real sources send them at their worst: late, dated ahead, without dates, deleted, made again, erased. */
import { type Chance, chanceOf } from '#local/simulator/random.ts';
import { ORDER_STATUSES } from '#shared/events/entities/order.ts';
import type { StreamEvent } from '#test/streams.ts';

const CUSTOMERS = 40;
const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 2, 1);

/** A store's events about so many orders, in the order in which they are published. The same for the same seed. */
export function adversarialOrders(storeId: string, orders: number, seed: number): StreamEvent[] {
  const sequences = new Map<string, number>();
  const next = (key: string) => {
    const sequence = (sequences.get(key) ?? 0) + 1;
    sequences.set(key, sequence);
    return sequence;
  };
  // Seconds apart, as a quiet store's events are.
  const time = () => new Date(FIRST_DAY + events.length * 1_000);
  const events: StreamEvent[] = [];
  const customer = (id: string): StreamEvent => ({
    entity: 'customer',
    storeId,
    subject: id,
    sequence: next(id),
    time: time(),
    data: { name: `Cliente ${id}`, created_at: '2026-03-01T12:00:00Z' },
  });
  for (let index = 0; index < CUSTOMERS; index += 1) events.push(customer(`c${index}`));
  const chance = chanceOf(seed, [storeId]);
  for (let index = 0; index < orders; index += 1) {
    // Mostly a new order, often an older one that changes again.
    const turns = chance.number.int({ min: 1, max: 3 });
    for (let turn = 0; turn < turns; turn += 1) {
      const which = turn === 0 ? index : chance.number.int({ max: index });
      const subject = `o${which}`;
      const deletes = turn > 0 && happens(chance, 15);
      events.push({
        entity: 'order',
        storeId,
        subject,
        sequence: next(subject),
        time: time(),
        ...(deletes ? { action: 'deleted' } : { data: orderState(chance, which) }),
      });
    }
    if (happens(chance, 2)) {
      const id = `c${chance.number.int({ max: CUSTOMERS - 1 })}`;
      events.push({
        entity: 'customer',
        storeId,
        subject: id,
        sequence: next(id),
        time: time(),
        action: 'deleted',
      });
      if (happens(chance, 50)) events.push(customer(id));
    }
  }
  return events;
}

function orderState(chance: Chance, index: number): object {
  const created = FIRST_DAY + index * 1_000;
  const dated = (days: number) => ({ updated_at: new Date(created + days * DAY_MS).toISOString() });
  return {
    status: chance.helpers.arrayElement(ORDER_STATUSES),
    order_type: 'delivery',
    total: `${chance.number.int({ min: 1, max: 500 })}.00`,
    customer: { id: `c${chance.number.int({ max: CUSTOMERS - 1 })}`, name: 'Maria', phone: '11 98765-4321' },
    created_at: new Date(created).toISOString(),
    ...chance.helpers.arrayElement([{}, dated(0), dated(-30), dated(-1), dated(2)]),
  };
}

function happens(chance: Chance, percent: number): boolean {
  return chance.number.int({ min: 1, max: 100 }) <= percent;
}
