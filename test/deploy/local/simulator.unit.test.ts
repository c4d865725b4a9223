/**
 * The simulator makes events that the projector accepts, with consistent amounts and references to
 * existing records.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asMessage, type SimulatedEvent } from '#local/simulator/random.ts';
import { history } from '#local/simulator/history.ts';
import { simulatedStore } from '#local/simulator/store.ts';
import { PACE, traffic } from '#local/simulator/simulator.ts';
import { readChange } from '#shared/events/change.ts';
import { ENTITY_NAMES } from '#shared/events/entities.ts';
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { ORDER_TYPES } from '#shared/records/store.ts';
import { times } from '#test/times.ts';

const NOW = Date.parse('2026-11-20T15:00:00Z');
const HOUR = 3_600_000;
const HISTORY = 20;

function historyOf(seed: number, index: number, orders: number, now = NOW): SimulatedEvent[] {
  const origin = { seed, environment: 'production', store: simulatedStore(seed, index), now };
  return [...history(origin, orders)];
}

/** The history of five stores, one of each kind, followed by ticks for the given time. */
function play(ordersPerMinute: number, milliseconds: number): SimulatedEvent[] {
  const stores = times(5, (index) => simulatedStore(1, index));
  const origin = { seed: 1, environment: 'production', now: NOW - 5_000 };
  const events = stores.flatMap((store) => [...history({ ...origin, store }, HISTORY)]);
  const flow = traffic({ ...origin, stores, history: HISTORY, ordersPerMinute, began: NOW });
  for (let time = 0; time <= milliseconds; time += 100) events.push(...flow(NOW + time));
  return events;
}

const ordersOf = (events: readonly SimulatedEvent[]) =>
  events.filter((event) => event.entity === 'order');

/** Asserts that the projector reads each event, and that sequences rise. */
function check(events: readonly SimulatedEvent[]): void {
  const known = new Map<string, number>();
  for (const event of events) {
    const { entity, storeId, subject, sequence } = event;
    const { key, value, headers } = asMessage(event);
    const change = readChange({ key: Buffer.from(key), value: Buffer.from(value), headers });
    expect(change).toMatchObject({ entity, storeId, id: subject, sequence });
    const name = `${storeId} ${entity} ${subject}`;
    expect(sequence).toBeGreaterThan(known.get(name) ?? 0);
    known.set(name, sequence);
  }
}

test('the projector accepts the history of every store at any time', () => {
  const years = { min: new Date('2021-01-01'), max: new Date('2090-01-01') };
  const dates = fc.date({ ...years, noInvalidDate: true });
  fc.assert(
    fc.property(fc.nat(), fc.nat({ max: 2_000 }), dates, (seed, index, now) => {
      const events = historyOf(seed, index, 12, now.getTime());
      check(events);
      expect(ordersOf(events)).toHaveLength(12);
    }),
    { numRuns: 20 },
  );
});

test('a history has every entity once, and is the same for the same seed', () => {
  const events = historyOf(1, 0, 200);
  expect(new Set(events.map(({ entity }) => entity))).toEqual(new Set(ENTITY_NAMES));
  const records = events.map(({ entity, subject }) => `${entity} ${subject}`);
  expect(new Set(records).size).toBe(events.length);
  expect(historyOf(1, 0, 200)).toEqual(events);
  expect(historyOf(2, 0, 200)).not.toEqual(events);
});

test('orders arrive at the given rate, the first one immediately, and reach every status', () => {
  const placed = (minutes: number, rate: number) =>
    ordersOf(play(rate, minutes * 60_000)).filter(
      ({ subject, sequence }) => subject.includes('-') && sequence === 1,
    );
  expect(placed(1, 120)).toHaveLength(121);
  expect(placed(0, 1)).toHaveLength(1);
  // Three hours, sped up, are longer than any order takes.
  const events = play(60, 60_000 + (3 * HOUR) / PACE);
  check(events);
  const orders = ordersOf(events);
  expect(new Set(orders.map(({ data }) => data.status))).toEqual(new Set(ORDER_STATUSES));
  expect(new Set(orders.map(({ data }) => data.order_type))).toEqual(new Set(ORDER_TYPES));
});
