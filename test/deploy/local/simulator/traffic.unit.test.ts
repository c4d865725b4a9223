/** The living flow: orders come in at the rate asked for and move, step by step, to their end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import type { SimulatedEvent } from '#local/simulator/event.ts';
import { PACE, Traffic } from '#local/simulator/traffic.ts';
import { checkOrder, throughReaders } from './checks.ts';

const NOW = Date.parse('2026-11-20T15:00:00Z');
const TICK = 100;

/** Lets time pass in ticks, and tells what happened. */
function play(seed: number, ordersPerMinute: number, milliseconds: number): SimulatedEvent[] {
  const stores = Array.from({ length: 5 }, (_, index) => simulatedStore(seed, index));
  const traffic = new Traffic({
    seed,
    environment: 'production',
    stores,
    history: 20,
    ordersPerMinute,
    now: NOW,
  });
  const events: SimulatedEvent[] = [];
  for (let time = 0; time <= milliseconds; time += TICK) events.push(...traffic.until(NOW + time));
  return events;
}

test('every event passes the readers, and every amount adds up', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0 }), (seed) => {
      for (const event of play(seed, 30, 20_000)) {
        const change = throughReaders(event);
        if (change.entity === 'order') checkOrder(change);
      }
    }),
    { numRuns: 30 },
  );
});

test('as many orders come in as asked for, the first at once', () => {
  const placed = play(1, 120, 60_000).filter((event) => event.entity === 'order' && event.sequence === 1);
  expect(placed).toHaveLength(121);
  expect(play(1, 1, 0).filter(({ entity }) => entity === 'order')).toHaveLength(1);
});

test('versions rise by one with each step, and every order ends', () => {
  // Two hours are more than the longest way; sped up.
  const events = play(1, 60, 60_000 + (3 * 3_600_000) / PACE);
  const orders = Map.groupBy(
    events.filter(({ entity }) => entity === 'order'),
    ({ subject }) => subject,
  );
  const early = [...orders.values()].slice(0, 60);
  for (const versions of early) {
    expect(versions.map(({ sequence }) => sequence)).toEqual(versions.map((_, index) => index + 1));
    const last = versions.at(-1);
    expect(last?.entity === 'order' && ['concluded', 'cancelled'].includes(last.data.status)).toBe(true);
  }
  const statuses = new Set(events.flatMap((event) => (event.entity === 'order' ? [event.data.status] : [])));
  expect(statuses).toEqual(
    new Set([
      'pending',
      'confirmed',
      'preparing',
      'ready',
      'dispatched',
      'delivered',
      'concluded',
      'cancelled',
    ]),
  );
});

test('customers are published before their first order, and changes to them have higher versions', () => {
  const events = play(2, 600, 60_000);
  const seen = new Map<string, number>();
  for (const event of events) {
    const key = `${event.storeId}/${event.subject}`;
    if (event.entity === 'customer') {
      expect(event.sequence).toBeGreaterThan(seen.get(key) ?? 0);
      seen.set(key, event.sequence);
    }
    if (event.entity === 'order' && event.data.customer?.id.includes('-')) {
      expect([...seen.keys()]).toContain(`${event.storeId}/${event.data.customer.id}`);
    }
  }
  expect([...seen.values()].some((sequence) => sequence === 1)).toBe(true);
  expect([...seen.values()].some((sequence) => sequence > 1)).toBe(true);
});

test('a later run repeats no id of an earlier one', () => {
  const stores = [simulatedStore(1, 0)];
  const first = (now: number) =>
    new Traffic({ seed: 1, environment: 'production', stores, history: 0, ordersPerMinute: 1, now })
      .until(now)
      .map(({ subject }) => subject);
  expect(first(NOW)).not.toEqual(first(NOW + 1_000));
});
