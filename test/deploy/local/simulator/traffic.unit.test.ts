/** The living flow: orders come in at the rate asked for and move, step by step, to their end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CouponUsage } from '#local/simulator/entities/coupon.ts';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import type { SimulatedEvent } from '#local/simulator/event.ts';
import { history } from '#local/simulator/history.ts';
import { PACE, Traffic } from '#local/simulator/traffic.ts';
import { checkOrder, throughReaders } from './checks.ts';
import { ShopWindow } from './shop-window.ts';

const NOW = Date.parse('2026-11-20T15:00:00Z');
const TICK = 100;

const HISTORY = 20;

/** Lets time pass in ticks, and tells what happened; before it, if asked for, what the stores have behind them. */
function play(
  seed: number,
  ordersPerMinute: number,
  milliseconds: number,
  withPast = false,
): SimulatedEvent[] {
  const stores = Array.from({ length: 5 }, (_, index) => simulatedStore(seed, index));
  const usage = new CouponUsage();
  const origin = { seed, environment: 'production' };
  const events = withPast
    ? stores.flatMap((store) =>
        [...history({ ...origin, store, now: NOW - 5_000, orders: HISTORY, usage })].flat(),
      )
    : [];
  const traffic = new Traffic({
    ...origin,
    stores,
    history: HISTORY,
    epoch: NOW - 5_000,
    usage,
    ordersPerMinute,
    now: NOW,
  });
  for (let time = 0; time <= milliseconds; time += TICK) events.push(...traffic.until(NOW + time));
  return events;
}

/** Follows the events, store by store. */
function follow(events: readonly SimulatedEvent[]): ShopWindow[] {
  const shops = new Map<string, ShopWindow>();
  for (const event of events) {
    const shop = shops.get(event.storeId) ?? new ShopWindow();
    shops.set(event.storeId, shop);
    shop.take(event);
  }
  return [...shops.values()];
}

test('every event passes the readers, every amount adds up, and whatever an event names is there', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0 }), (seed) => {
      const events = play(seed, 60, 20_000, true);
      for (const event of events) {
        const change = throughReaders(event);
        if (change.entity === 'order') checkOrder(change);
      }
      for (const shop of follow(events)) shop.checkUsage();
    }),
    { numRuns: 20 },
  );
});

test('menus change while orders come in, and orders follow: prices, promotions, gaps', () => {
  const events = play(4, 600, 600_000, true);
  const shops = follow(events);
  for (const shop of shops) shop.checkUsage();
  const versions = (entity: SimulatedEvent['entity']) =>
    Map.groupBy(
      events.filter((event) => event.entity === entity),
      ({ storeId, subject }) => `${storeId}/${subject}`,
    )
      .values()
      .toArray();
  for (const entity of ['product', 'option_group', 'coupon'] as const) {
    const sequences = versions(entity).map((ofOne) => ofOne.map(({ sequence }) => sequence));
    expect(sequences.some((ofOne) => ofOne.length > 2)).toBe(true);
    for (const ofOne of sequences) expect(ofOne).toEqual([...new Set(ofOne)].toSorted((a, b) => a - b));
  }
  const products = versions('product').map((ofOne) =>
    ofOne.flatMap((event) => (event.entity === 'product' ? [event.data] : [])),
  );
  expect(products.some((states) => new Set(states.map(({ price }) => price)).size > 1)).toBe(true);
  expect(products.some((states) => new Set(states.map(({ active }) => active)).size > 1)).toBe(true);
  for (const states of products) expect(new Set(states.map(({ created_at: at }) => at)).size).toBe(1);
});

test('orders that are concluded are reviewed, and some reviews are answered later', () => {
  const reviews = play(1, 120, 300_000).filter(({ entity }) => entity === 'review');
  expect(reviews.filter(({ sequence }) => sequence === 1).length).toBeGreaterThan(20);
  expect(reviews.filter(({ sequence }) => sequence === 2).length).toBeGreaterThan(3);
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
    new Traffic({
      seed: 1,
      environment: 'production',
      stores,
      history: 0,
      epoch: now,
      usage: new CouponUsage(),
      ordersPerMinute: 1,
      now,
    })
      .until(now)
      .map(({ subject }) => subject);
  expect(first(NOW)).not.toEqual(first(NOW + 1_000));
});
