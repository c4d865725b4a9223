/** A store's history: only events that the projector accepts, complete, in its past and in its opening hours. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CouponUsage } from '#local/simulator/entities/coupon.ts';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import type { SimulatedEvent } from '#local/simulator/event.ts';
import { history } from '#local/simulator/history.ts';
import { CAMPAIGN_CHANNELS, CAMPAIGN_STATUSES } from '#shared/events/entities/campaign.ts';
import { type EntityName, ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { checkOrder, throughReaders } from './checks.ts';
import { ShopWindow } from './shop-window.ts';

const NOW = Date.parse('2026-11-20T15:00:00Z');
const HOUR = 3_600_000;

function historyOf(seed: number, index: number, orders: number, now = NOW): SimulatedEvent[] {
  const origin = { seed, environment: 'production', store: simulatedStore(seed, index), now };
  return [...history({ ...origin, orders, usage: new CouponUsage() })].flat();
}

/** The events of one entity in the histories of five stores, one of each kind. */
function ofFive<E extends EntityName>(entity: E, orders = 300): Extract<SimulatedEvent, { entity: E }>[] {
  return [0, 1, 2, 3, 4]
    .flatMap((index) => historyOf(1, index, orders))
    .filter((event): event is Extract<SimulatedEvent, { entity: E }> => event.entity === entity);
}

test('every event passes the readers, every amount adds up, and whatever an event names is there', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0 }),
      fc.nat({ max: 2_000 }),
      fc.date({ min: new Date('2020-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
      (seed, index, now) => {
        const shop = new ShopWindow();
        for (const event of historyOf(seed, index, 12, now.getTime())) {
          const change = throughReaders(event);
          if (change.entity === 'order') checkOrder(change);
          shop.take(event);
        }
        expect(shop.orders.size).toBe(12);
        shop.checkUsage();
      },
    ),
    { numRuns: 150 },
  );
});

test.each([0, 200])('has every entity, after %i orders too', (orders) => {
  const present = new Set(historyOf(1, 0, orders).map(({ entity }) => entity));
  const wanted = ENTITY_NAMES.filter((entity) => orders > 0 || !['order', 'review'].includes(entity));
  expect([...present].toSorted()).toEqual(wanted.toSorted());
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
  const orders = ofFive('order').map(({ data }) => data);
  expect(new Set(orders.map(({ order_type }) => order_type))).toEqual(
    new Set(['delivery', 'takeout', 'indoor']),
  );
  const cancelled = orders.filter(({ status }) => status === 'cancelled').length / orders.length;
  expect(cancelled).toBeGreaterThan(0.02);
  expect(cancelled).toBeLessThan(0.15);
  const methods = new Set(orders.flatMap(({ payments }) => (payments ?? []).map(({ method }) => method)));
  expect(methods).toEqual(new Set(['pix', 'credit', 'debit', 'cash', 'voucher', 'other']));
});

test('shows what menus have: gaps, promotions, bar codes, and half-and-half at either price', () => {
  const [categories, products, groups] = [
    ofFive('category', 0),
    ofFive('product', 0),
    ofFive('option_group', 0),
  ];
  for (const records of [categories, products]) {
    const flags = records.map(({ storeId, data }) => `${storeId} ${data.active}`);
    expect(new Set(flags).size).toBe(10);
  }
  expect(new Set(groups.flatMap(({ data }) => data.options.map(({ active }) => active)))).toEqual(
    new Set([true, false]),
  );
  expect(new Set(groups.map(({ data }) => data.price_method))).toEqual(new Set(['sum', 'max', 'average']));
  expect(products.filter(({ data }) => data.promotional_price).length).toBeGreaterThan(5);
  expect(products.some(({ data }) => (data.serves ?? 0) > 1)).toBe(true);
  const eans = products.flatMap(({ data }) => data.ean ?? []);
  expect(eans.length).toBeGreaterThan(5);
  for (const ean of eans) {
    const sum = Array.from(ean, Number).reduce(
      (total, digit, place) => total + digit * (place % 2 === 0 ? 1 : 3),
      0,
    );
    expect(ean).toMatch(/^20\d{11}$/);
    expect(sum % 10).toBe(0);
  }
});

test('reviews are skewed as in life, and the angry are answered most', () => {
  const reviews = ofFive('review').map(({ data }) => data);
  const share = (of: typeof reviews, which: (review: (typeof reviews)[number]) => boolean) =>
    of.filter(which).length / of.length;
  expect(reviews.length).toBeGreaterThan(200);
  expect(reviews.length).toBeLessThan(750);
  expect(share(reviews, ({ rating }) => rating === 5)).toBeGreaterThan(0.5);
  expect(share(reviews, ({ rating }) => rating === 1)).toBeGreaterThan(
    share(reviews, ({ rating }) => rating === 2),
  );
  const [glad, angry] = [
    reviews.filter(({ rating }) => rating > 3),
    reviews.filter(({ rating }) => rating < 3),
  ];
  expect(share(angry, ({ reply }) => reply !== null)).toBeGreaterThan(
    share(glad, ({ reply }) => reply !== null),
  );
  for (const { created_at, replied_at } of reviews) {
    expect(Date.parse(replied_at ?? created_at)).toBeLessThanOrEqual(NOW);
  }
});

test('campaigns have every status and channel, name coupons that exist, and reach no more than there are', () => {
  const events = historyOf(1, 0, 200);
  const coupons = new Set(events.filter(({ entity }) => entity === 'coupon').map(({ subject }) => subject));
  const customers = events.filter(({ entity }) => entity === 'customer').length;
  const found = events.flatMap((event) => (event.entity === 'campaign' ? [event.data] : []));
  expect(new Set(found.map(({ status }) => status))).toEqual(new Set(CAMPAIGN_STATUSES));
  expect(new Set(found.map(({ channel }) => channel))).toEqual(new Set(CAMPAIGN_CHANNELS));
  for (const campaign of found) {
    if (campaign.coupon_id) expect(coupons).toContain(campaign.coupon_id);
    expect(campaign.sent_count).toBeLessThanOrEqual(customers);
    expect(campaign.delivered_count).toBeLessThanOrEqual(campaign.sent_count ?? 0);
    expect(campaign.converted_count).toBeLessThanOrEqual(campaign.delivered_count ?? 0);
    const begun = campaign.status === 'running' || campaign.status === 'finished';
    expect((campaign.sent_count ?? 0) > 0).toBe(begun);
  }
  expect(found.length).toBeGreaterThan(
    historyOf(1, 0, 20).filter(({ entity }) => entity === 'campaign').length,
  );
});
