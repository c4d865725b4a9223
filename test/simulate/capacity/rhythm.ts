/** When orders come, and how many events each is, as the simulator of stores has it. */
import { cityOf } from '#local/simulator/brazil/cities.ts';
import { CouponUsage } from '#local/simulator/entities/coupon.ts';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import { cuisineOf } from '#local/simulator/menus/cuisine.ts';
import { Traffic } from '#local/simulator/traffic.ts';
import { WEEKDAYS } from '#shared/events/entities/store.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';

export interface Rhythm {
  /** How many times the mean hour the busiest one is. */
  busiest: number;
  eventsOfOrder: number;
}

const HOUR = 60;
const WEEK = 7 * 24;
/** All kinds of stores in all time zones, several times. */
const STORES = 200;

/** How many times as many orders as in the mean hour come in the busiest hour of the week. */
export function busiestHour(): number {
  const hours = Array.from({ length: WEEK }, () => 0);
  for (let index = 0; index < STORES; index += 1) {
    const { opens } = cuisineOf(index);
    const offset = offsetMilliseconds(cityOf(index).timezoneOffset) / 60_000;
    const [from, to] = [minuteOf(opens.from), minuteOf(opens.to)];
    for (const day of opens.days) {
      const midnight = WEEKDAYS.indexOf(day) * 24 * HOUR - offset;
      for (let minute = from; minute < to; minute += 1) {
        const hour = Math.floor((midnight + minute) / HOUR + WEEK) % WEEK;
        // Most in the middle of the opening hours, few at both ends; as many in a week of one store as of another.
        const part = (minute + 0.5 - from) / (to - from);
        const share = (4 * Math.min(part, 1 - part)) / (to - from);
        hours[hour] = (hours[hour] ?? 0) + share / opens.days.length;
      }
    }
  }
  return (Math.max(...hours) * WEEK) / STORES;
}

function minuteOf(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * HOUR + minutes;
}

const SEED = 1;
const HISTORY = 100;
const ORDERS = 60;
const TICK_MS = 100;
const BEGIN = Date.parse('2026-11-20T15:00:00Z');
/** The longest way of an order, its review and the reply, at the simulator's pace. */
const LATEST_MS = 600_000;

/** Events that come of an order: its own steps, and what happens to customers, coupons, reviews and menus on the way. */
export function eventsOfOrder(): number {
  const traffic = new Traffic({
    seed: SEED,
    environment: 'production',
    stores: Array.from({ length: 10 }, (_, index) => simulatedStore(SEED, index)),
    history: HISTORY,
    epoch: BEGIN,
    usage: new CouponUsage(),
    ordersPerMinute: ORDERS,
    now: BEGIN,
  });
  let events = 0;
  let orders = 0;
  // Whoever measures between two moments of a steady flow counts as many steps as belong to the orders between them.
  for (let time = TICK_MS; time <= LATEST_MS; time += TICK_MS) {
    const happened = traffic.until(BEGIN + time);
    if (time <= LATEST_MS / 2) continue;
    events += happened.length;
    orders += happened.filter(({ entity, sequence }) => entity === 'order' && sequence === 1).length;
  }
  return events / orders;
}

export function simulatedRhythm(): Rhythm {
  return { busiest: busiestHour(), eventsOfOrder: eventsOfOrder() };
}
