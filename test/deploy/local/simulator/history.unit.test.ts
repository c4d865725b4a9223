/** A store's history: only events that the projector accepts, complete, in its past and in its opening hours. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import type { SimulatedEvent } from '#local/simulator/event.ts';
import { history, historyLength } from '#local/simulator/history.ts';
import { checkOrder, throughReaders } from './checks.ts';

const NOW = Date.parse('2026-11-20T15:00:00Z');
const HOUR = 3_600_000;

function historyOf(seed: number, index: number, orders: number, now = NOW): SimulatedEvent[] {
  const origin = { seed, environment: 'production', store: simulatedStore(seed, index), now };
  return [...history(origin, orders)].flat();
}

test('every event passes the readers, and every amount adds up', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0 }),
      fc.nat({ max: 2_000 }),
      fc.date({ min: new Date('2020-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
      (seed, index, now) => {
        const events = historyOf(seed, index, 12, now.getTime());
        expect(events).toHaveLength(historyLength(12));
        for (const event of events) {
          const change = throughReaders(event);
          if (change.entity === 'order') checkOrder(change);
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('holds every entity once, customers before the orders that name them', () => {
  const events = historyOf(1, 0, 200);
  const ids = events.map(({ entity, subject }) => `${entity}/${subject}`);
  expect(new Set(ids).size).toBe(ids.length);
  expect(events[0]?.entity).toBe('store');
  const customers = new Set<string>();
  for (const event of events) {
    if (event.entity === 'customer') customers.add(event.subject);
    if (event.entity === 'order' && event.data.customer) expect(customers).toContain(event.data.customer.id);
  }
});

test('orders have come to an end, within 30 days, while the store was open', () => {
  for (let index = 0; index < 5; index += 1) {
    const { city, cuisine } = simulatedStore(1, index);
    for (const event of historyOf(1, index, 100)) {
      if (event.entity !== 'order') continue;
      const { status, created_at, updated_at } = event.data;
      expect(['concluded', 'cancelled']).toContain(status);
      expect(Date.parse(updated_at ?? '')).toBeLessThan(NOW);
      expect(Date.parse(created_at)).toBeGreaterThan(NOW - 31 * 24 * HOUR);
      const local = new Date(Date.parse(created_at) + Number.parseInt(city.timezoneOffset, 10) * HOUR);
      const clock = local.toISOString().slice(11, 16);
      expect(clock >= cuisine.opens.from && clock <= cuisine.opens.to).toBe(true);
      const weekday = local.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' }).toLowerCase();
      expect(cuisine.opens.days).toContain(weekday);
    }
  }
});

test('is the same again for the same seed and time, and another for another seed', () => {
  expect(historyOf(5, 3, 30)).toEqual(historyOf(5, 3, 30));
  expect(historyOf(5, 3, 30)).not.toEqual(historyOf(6, 3, 30));
});

test('shows all kinds of orders', () => {
  const orders = [0, 1, 2, 3, 4]
    .flatMap((index) => historyOf(1, index, 300))
    .flatMap((event) => (event.entity === 'order' ? [event.data] : []));
  expect(new Set(orders.map(({ order_type }) => order_type))).toEqual(
    new Set(['delivery', 'takeout', 'indoor']),
  );
  const cancelled = orders.filter(({ status }) => status === 'cancelled').length / orders.length;
  expect(cancelled).toBeGreaterThan(0.02);
  expect(cancelled).toBeLessThan(0.15);
  const methods = new Set(orders.flatMap(({ payments }) => (payments ?? []).map(({ method }) => method)));
  expect(methods).toEqual(new Set(['pix', 'credit', 'debit', 'cash', 'voucher', 'other']));
});
