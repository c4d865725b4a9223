import { describe, expect, it } from 'vitest';
import { cityOf } from '#local/simulator/brazil/cities.ts';
import { simulatedStore } from '#local/simulator/entities/store.ts';
import { openInstants } from '#local/simulator/opening-hours.ts';
import { draw } from '#local/simulator/random.ts';
import { expectUpToDate } from '../../docs/made-section.ts';
import type { ScaleRecord } from '../../bench/scale/result.ts';
import { imbalance, loadOfMasters, loadOfPartitions, loadOfShards } from './balance.ts';
import { type Demand, USUAL } from './demand.ts';
import { figuresOf, readFigures } from './figures.ts';
import { planFor, pressure } from './plan.ts';
import { renderMarkdown, renderScreen } from './report.ts';
import { busiestHour, eventsOfOrder, simulatedRhythm } from './rhythm.ts';
import { ordersOfStores } from './skew.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('orders of stores', () => {
  const demand = { stores: 1_000, ordersADay: 100_000, skew: 1, largest: 1_000 };

  it('are as many as asked for, the largest first, none above what one kitchen makes', () => {
    const orders = ordersOfStores(demand);
    expect(orders).toHaveLength(1_000);
    expect(sum(orders)).toBeCloseTo(100_000, 3);
    expect(orders).toEqual(orders.toSorted((a, b) => b - a));
    expect(orders[0]).toBe(1_000);
  });

  it('follow the power of the rank below that', () => {
    const orders = ordersOfStores({ ...demand, skew: 0.8 });
    expect((orders[199] ?? 0) / (orders[799] ?? 0)).toBeCloseTo(4 ** 0.8, 6);
  });

  it('are alike without skew, and where all stores are full', () => {
    expect(new Set(ordersOfStores({ ...demand, skew: 0 }))).toEqual(new Set([100]));
    for (const orders of ordersOfStores({ ...demand, ordersADay: 1_000_000 }))
      expect(orders).toBeCloseTo(1_000, 6);
  });

  it('are refused where kitchens cannot make so many', () => {
    expect(() => ordersOfStores({ ...demand, ordersADay: 1_000_001 })).toThrow(
      '1000 stores with 1000 orders a day at most cannot have 1000001',
    );
  });
});

/** As Kafka's own clients compute it (`org.apache.kafka.common.utils.Utils`). */
function murmur2(text: string): number {
  const data = Buffer.from(text);
  const mix = 0x5b_d1_e9_95;
  let hash = 0x97_47_b2_8c ^ data.length;
  let at = 0;
  for (; at + 4 <= data.length; at += 4) {
    let word = Math.imul(data.readInt32LE(at), mix);
    word = Math.imul(word ^ (word >>> 24), mix);
    hash = Math.imul(hash, mix) ^ word;
  }
  const rest = data.subarray(at);
  for (const [index, byte] of [...rest].entries()) hash ^= byte << (8 * index);
  if (rest.length > 0) hash = Math.imul(hash, mix);
  hash = Math.imul(hash ^ (hash >>> 13), mix);
  return hash ^ (hash >>> 15);
}

describe('balance', () => {
  it.each([1, 6, 48, 97])(
    'puts each store on the partition of %i that its key has in Kafka',
    (partitions) => {
      // Each store has a load by which it is known among the others.
      const loads = Array.from({ length: 40 }, (_, index) => 2 ** index);
      const expected = Array.from({ length: partitions }, () => 0);
      for (const [index, load] of loads.entries()) {
        const partition = (murmur2(`s${index + 1}`) & 0x7f_ff_ff_ff) % partitions;
        expected[partition] = (expected[partition] ?? 0) + load;
      }
      expect(loadOfPartitions(loads, partitions)).toEqual(expected);
    },
  );

  it('gives partitions to the shards in turn, and loses none', () => {
    const loads = Array.from({ length: 48 }, (_, index) => index);
    expect(loadOfShards(loads, 2)).toEqual([24 * 23, 24 * 24]);
    expect(sum(loadOfShards(loads, 5))).toBe(sum(loads));
    expect(loadOfShards(loads.fill(1), 5).toSorted((a, b) => a - b)).toEqual([9, 9, 10, 10, 10]);
  });

  it('spreads stores over the masters of Redis', () => {
    const masters = loadOfMasters(
      Array.from({ length: 3_000 }, () => 1),
      3,
    );
    expect(sum(masters)).toBe(3_000);
    expect(imbalance(masters)).toBeLessThan(1.2);
  });

  it('is told by the busiest', () => {
    expect(imbalance([1, 1, 4])).toBe(2);
  });
});

describe('rhythm', () => {
  it('has the busiest hour that orders of simulated stores have', () => {
    const weeks = 4;
    const hours = new Map<number, number>();
    const until = Date.parse('2026-11-23T03:00:00Z');
    for (let index = 0; index < 100; index += 1) {
      const store = {
        ...simulatedStore(1, index % 5),
        city: cityOf(index),
        cuisine: simulatedStore(1, index).cuisine,
      };
      const instants = draw(1, ['rhythm', index], (chance) =>
        openInstants(chance, store, { count: 400, days: weeks * 7, until }),
      );
      for (const instant of instants) {
        const hour = Math.floor(instant / 3_600_000) % (7 * 24);
        hours.set(hour, (hours.get(hour) ?? 0) + 1);
      }
    }
    const seen = (Math.max(...hours.values()) * 7 * 24) / (100 * 400);
    expect(seen / busiestHour()).toBeGreaterThan(0.85);
    expect(seen / busiestHour()).toBeLessThan(1.15);
  });

  it('counts the steps of an order and what else happens on its way', () => {
    const events = eventsOfOrder();
    expect(events).toBeGreaterThan(4);
    expect(events).toBeLessThan(10);
  });
});

const REQUEST = {
  per_second: 8_000,
  p50_ms: 2,
  p99_ms: 9,
  cpu_us: 120,
  mongodb_us: 60,
  redis_us: 12,
  client_bytes: 4_000,
  mongodb_bytes: 9_000,
  redis_bytes: 600,
};
const RECORD: ScaleRecord = {
  benchmark: 'scale',
  date: '2026-11-22',
  machine: { cores: 2, memory_gib: 24, cpu: 'a processor', node: 'v24', mongodb: '6.0' },
  load_average: 1,
  orders: 8_000,
  connections: 20,
  seconds: 2,
  stores: 1_000,
  instances: 1,
  projector: {
    events_per_second: 10_000,
    cpu_us: 60,
    mongodb_us: 70,
    event_bytes: 1_200,
    peak_mib: 300,
  },
  requests: { details: REQUEST, list: REQUEST, poll: { ...REQUEST, cpu_us: 80 } },
  query_peak_mib: 170,
  storage: { order_document_bytes: 400, order_index_bytes: 440, session_bytes: 150, store_bytes: 1_000 },
};
const CHANGES =
  '10,000 clients wait for 100 stores: 16.2 KiB of the query service’s memory each, 5 % of a core';
const figures = figuresOf([RECORD], CHANGES);
const RHYTHM = { busiest: 4, eventsOfOrder: 7 };
const SMALL: Demand = {
  ...USUAL,
  stores: 2_000,
  ordersADay: 400_000,
  requestsPerSecond: 1_000,
  partitions: 12,
};

describe('capacity', () => {
  const needOf = (demand: Demand, what: string) => {
    const need = planFor(demand, figures, RHYTHM).needs.find((one) => one.what === what);
    if (need === undefined) throw new Error(`nothing is said of ${what}`);
    return need;
  };

  it('takes the median of each figure at all numbers of stores', () => {
    const busy = { ...RECORD, stores: 10, projector: { ...RECORD.projector, cpu_us: 200 } };
    const records = [
      { ...busy, stores: 1 },
      busy,
      RECORD,
      { ...RECORD, stores: 100 },
      { ...RECORD, stores: 5 },
    ];
    expect(figuresOf(records, CHANGES)).toEqual({ ...figures, stores: { least: 1, most: 1_000 } });
  });

  it('takes the figures of one instance, requests by their mix', () => {
    expect(figures).toMatchObject({
      stores: { least: 1_000, most: 1_000 },
      projectorUs: 60,
      waitingKib: 16.2,
      waitingCores: 0.000005,
    });
    expect(figures.request.queryUs).toBeCloseTo(0.7 * 120 + 0.3 * 80, 9);
    expect(() => figuresOf([{ ...RECORD, instances: 2 }], CHANGES)).toThrow('one instance was not measured');
    expect(() => figuresOf([RECORD], '')).toThrow('does not say what clients that wait cost');
  });

  it('computes query services from requests and processor time', () => {
    const need = needOf({ ...SMALL, requestsPerSecond: 10_000 }, 'query services');
    expect(need.demand).toBeCloseTo((10_000 * 108) / 1e6 + 100_000 * 0.000005, 9);
    expect(need.needed).toBe(3);
  });

  it('asks for no more than what the most loaded one carries, and for no more of them than that takes', () => {
    for (const need of planFor({ ...SMALL, requestsPerSecond: 200_000 }, figures, RHYTHM).needs) {
      const needed = need.needed ?? Number.NaN;
      expect(needed).toBeGreaterThan(0);
      expect((need.demand * need.imbalance) / needed).toBeLessThanOrEqual(need.one);
      expect(needed - pressure(need)).toBeLessThan(2);
    }
  });

  it('says that no number suffices where one store is more than one carries', () => {
    const demand = { ...SMALL, stores: 1, ordersADay: 5_000, requestsPerSecond: 100_000 };
    expect(needOf(demand, 'masters of Redis').needed).toBeNull();
    expect(renderScreen(planFor(demand, figures, RHYTHM), figures)).toMatch(
      /masters of Redis .* none suffices/,
    );
  });

  it('says what is short first', () => {
    const plan = planFor({ ...SMALL, requestsPerSecond: 500_000 }, figures, RHYTHM);
    expect(renderScreen(plan, figures)).toContain('short first: query services');
  });

  it('fits 80 columns, with large numbers too', () => {
    const lines = renderScreen(
      planFor({ ...USUAL, stores: 5_000, partitions: 12 }, figures, RHYTHM),
      figures,
    ).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });
});

describe('docs/capacity.md', () => {
  it('says what the measured figures lead to: npm run simulate -- capacity --write-docs writes it anew', async () => {
    const measured = await readFigures();
    const plan = planFor(USUAL, measured, simulatedRhythm());
    await expectUpToDate('docs/capacity.md', 'capacity', renderMarkdown(plan, measured));
  });
});
