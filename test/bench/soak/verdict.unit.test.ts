import { describe, expect, it } from 'vitest';
import { judge, leastSquaresSlope, type Sample } from './report.ts';

const HEAD = {
  benchmark: 'soak',
  date: '2026-01-01',
  machine: { cores: 2, memory_gib: 8, cpu: 'one', node: 'v24', mongodb: '6' },
  seconds: 7_200,
  stores: 1,
  eventsPerSecond: 1,
  requestsPerSecond: 1,
  every: 60,
} as const;

/** A sample of one minute; `rss` is what the projector takes. */
function sample(minute: number, rss: number, more: Partial<Sample> = {}): Sample {
  const projector = {
    rss_mib: rss,
    heap_mib: 50,
    external_mib: 10,
    handles: 20,
    descriptors: 40,
    kafka_connections: 4,
    mongodb_connections: 9,
    redis_connections: 1,
    cpu_percent: 3,
    event_loop_busy_percent: 4,
    warnings: 0,
    errors: 0,
  };
  return {
    minute,
    load: 1,
    services: { projector },
    mongodb: { connections: 20, resident_mib: 200, data_mib: 10, storage_mib: 8 },
    documents: { orders: 100 },
    redis: { clients: 3, memory_mib: 1, keys: 10 },
    messages: { changes: 1_000, access: 50 },
    answers: { list: { count: 100, p50_ms: 3, p99_ms: 9 } },
    freshness: { count: 10, p50_ms: 40, p99_ms: 90 },
    wrong: {},
    refused: {},
    ...more,
  };
}

/** Two hours. */
const soak = (rssAt: (minute: number) => number, more?: (minute: number) => Partial<Sample>) => ({
  head: HEAD,
  samples: Array.from({ length: 120 }, (_, index) => sample(index + 1, rssAt(index + 1), more?.(index + 1))),
});

describe('the slope', () => {
  it('is that of the line on which the points lie', () => {
    const points = [1, 2, 5, 9].map((x) => ({ x, y: 7 - 3 * x }));
    expect(leastSquaresSlope(points)).toBeCloseTo(-3, 10);
  });
});

describe('the verdict', () => {
  it('holds where memory goes up and down, also where it grew in the first quarter', () => {
    const verdict = judge(soak((minute) => (minute < 30 ? 100 + minute : 130 + (minute % 7))));
    expect(verdict).toMatchObject({ holds: true, isLongEnough: true, answers: 12_000 });
  });

  it('does not hold where memory grows', () => {
    const verdict = judge(soak((minute) => 130 + minute / 4 + (minute % 7)));
    expect(verdict.holds).toBe(false);
    expect(verdict.trends.filter(({ holds }) => !holds).map(({ what }) => what)).toEqual([
      'projector: resident MiB',
    ]);
  });

  it('does not hold after one wrong answer', () => {
    const verdict = judge(
      soak(
        () => 130,
        (minute) => (minute === 3 ? { wrong: { 'list: 500': 1 } } : {}),
      ),
    );
    expect(verdict).toMatchObject({ holds: false, wrong: { 'list: 500': 1 } });
  });

  it('allows one 503 of a thousand answers, and no more', () => {
    const refusing = (each: number) =>
      judge(
        soak(
          () => 130,
          () => ({ refused: { list: each } }),
        ),
      );
    expect(refusing(0.1).holds).toBe(true);
    expect(refusing(1).holds).toBe(false);
  });

  it('knows that a few minutes are too short', () => {
    const { samples } = soak(() => 130);
    expect(judge({ head: HEAD, samples: samples.slice(0, 5) }).isLongEnough).toBe(false);
  });
});
