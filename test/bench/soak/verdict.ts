/** Whether a soak shows that anything grows: the least-squares slope of each figure over its last three quarters, held against a limit. */
import { rounded } from '../median.ts';
import type { Sample, SoakRecord } from './result.ts';

export interface Trend {
  what: string;
  first: number;
  last: number;
  per_hour: number;
  /** The most that it may grow in an hour. */
  limit: number;
  holds: boolean;
}

export interface Verdict {
  holds: boolean;
  /** Too few samples make a slope of chance. */
  isLongEnough: boolean;
  trends: Trend[];
  answers: number;
  wrong: Record<string, number>;
  refused: number;
  /** Lines in the logs of our processes. */
  warnings: number;
  errors: number;
}

const LEAST_SAMPLES = 20;
const LEAST_MINUTES = 30;
/** Of all answers, those 503 that a machine which others use as well may cause. */
const REFUSED_SHARE = 0.001;

const PER_SERVICE = [
  { what: 'resident MiB', limit: 10, of: (one: Service) => one.rss_mib },
  { what: 'handles', limit: 3, of: (one: Service) => one.handles },
  { what: 'file descriptors', limit: 3, of: (one: Service) => one.descriptors },
  {
    what: 'connections',
    limit: 3,
    of: (one: Service) => one.kafka_connections + one.mongodb_connections + one.redis_connections,
  },
];
type Service = Sample['services'][string];

export function judge({ samples }: SoakRecord): Verdict {
  const late = samples.slice(Math.floor(samples.length / 4));
  const names = Object.keys(samples[0]?.services ?? {});
  const trends = [
    ...names.flatMap((name) =>
      PER_SERVICE.map(({ what, limit, of }) =>
        trendOf(`${name}: ${what}`, limit, late, ({ services }) => {
          const service = services[name];
          return service === undefined ? Number.NaN : of(service);
        }),
      ),
    ),
    trendOf('MongoDB: connections', 3, late, ({ mongodb }) => mongodb.connections),
    trendOf('Redis: clients', 3, late, ({ redis }) => redis.clients),
    trendOf('Redis: MiB', 3, late, ({ redis }) => redis.memory_mib),
  ];
  const answers = samples.flatMap((sample) => Object.values(sample.answers));
  const asked = answers.reduce((sum, { count }) => sum + count, 0);
  const wrong = summed(samples.map((sample) => sample.wrong));
  const refused = totalOf(summed(samples.map((sample) => sample.refused)));
  const logged = (level: 'warnings' | 'errors') =>
    totalOf(samples.flatMap(({ services }) => Object.values(services)).map((service) => service[level]));
  const isLongEnough = late.length >= LEAST_SAMPLES && (samples.at(-1)?.minute ?? 0) >= LEAST_MINUTES;
  return {
    holds:
      trends.every(({ holds }) => holds) &&
      totalOf(wrong) === 0 &&
      refused <= asked * REFUSED_SHARE &&
      logged('errors') === 0,
    isLongEnough,
    trends,
    answers: asked,
    wrong,
    refused,
    warnings: logged('warnings'),
    errors: logged('errors'),
  };
}

function trendOf(
  what: string,
  limit: number,
  samples: readonly Sample[],
  of: (sample: Sample) => number,
): Trend {
  const points = samples.map((sample) => ({ x: sample.minute / 60, y: of(sample) }));
  const slope = leastSquaresSlope(points);
  return {
    what,
    first: points[0]?.y ?? Number.NaN,
    last: points.at(-1)?.y ?? Number.NaN,
    per_hour: rounded(slope, 2),
    limit,
    holds: slope <= limit,
  };
}

/** How much `y` grows with each `x`, by the line that fits the points best. */
export function leastSquaresSlope(points: readonly { x: number; y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const along = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0);
  return along / points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
}

function summed(counts: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of counts.flatMap(Object.entries<number>)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

function totalOf(counts: Record<string, number> | readonly number[]): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
