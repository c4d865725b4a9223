/** What a soak writes down, line by line as JSON, what it comes to, and whether anything grows: the least-squares slope of each figure over its last three quarters, held against a limit. */
import { grouped, table } from '../frame.ts';
import { median, rounded } from '../median.ts';

export interface SoakOptions {
  /** How long it runs, once everything is set up. */
  seconds: number;
  stores: number;
  /** Of the simulated stores in all, about. */
  eventsPerSecond: number;
  requestsPerSecond: number;
  /** Seconds from one sample to the next. */
  every: number;
  file: string;
}

/** What one of our processes is at the moment of a sample; processor time of one core and lines of its log since the one before. */
export interface ServiceFigures {
  rss_mib: number;
  heap_mib: number;
  /** What keeps the event loop alive, as Node counts it. */
  handles: number;
  descriptors: number;
  /** To the servers. */
  connections: number;
  cpu_percent: number;
  warnings: number;
  errors: number;
}

export interface Times {
  count: number;
  p50_ms: number;
  p99_ms: number;
}

export interface Sample {
  /** Minutes since it began. */
  minute: number;
  /** Load average of the machine. */
  load: number;
  services: Record<string, ServiceFigures>;
  mongodb: { connections: number };
  redis: { clients: number; memory_mib: number };
  /** By kind, since the sample before. */
  answers: Record<string, Times>;
  /** Answers that are not as they must be, by kind and what was wrong, since the sample before. */
  wrong: Record<string, number>;
  /** Answers 503, by kind, since the sample before. */
  refused: Record<string, number>;
}

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
  { what: 'resident MiB', limit: 10, of: (one: ServiceFigures) => one.rss_mib },
  { what: 'handles', limit: 3, of: (one: ServiceFigures) => one.handles },
  { what: 'file descriptors', limit: 3, of: (one: ServiceFigures) => one.descriptors },
  { what: 'connections', limit: 3, of: (one: ServiceFigures) => one.connections },
];

export function judge(samples: readonly Sample[]): Verdict {
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

function trendOf(what: string, limit: number, samples: readonly Sample[], of: (sample: Sample) => number): Trend {
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

const TREND_TITLES = ['figure', 'after a quarter', 'at the end', 'growth in an hour', 'at most', 'holds'];
const TIME_TITLES = ['answers', 'number', 'p50 ms', 'p99 ms', 'worst p99 ms'];

export function render({ samples, ...options }: SoakOptions & { samples: readonly Sample[] }): string {
  const verdict = judge(samples);
  const trends = verdict.trends.map(({ what, holds, ...figures }) => [
    what,
    ...Object.values(figures).map(String),
    holds ? 'yes' : 'no',
  ]);
  const { stores, eventsPerSecond, requestsPerSecond } = options;
  const load = rounded(median(samples.map((sample) => sample.load)), 1);
  return [
    `${Math.round(samples.at(-1)?.minute ?? 0)} minutes, ${stores} stores, about ${eventsPerSecond} events and ${requestsPerSecond} requests a second; load average ${load} in the median.`,
    '',
    table(TREND_TITLES, trends),
    table(TIME_TITLES, timeRows(samples)),
    ending(samples, verdict),
  ].join('\n');
}

/** Medians of what was measured in each interval: a moment in which the machine was busy does not move them. */
function timeRows(samples: readonly Sample[]): string[][] {
  const kinds = [...new Set(samples.flatMap(({ answers }) => Object.keys(answers)))].toSorted();
  return kinds.map((kind) => {
    const times = samples.flatMap(({ answers }) => answers[kind] ?? []);
    return [
      kind,
      grouped(times.reduce((sum, { count }) => sum + count, 0)),
      String(rounded(median(times.map((one) => one.p50_ms)), 1)),
      String(rounded(median(times.map((one) => one.p99_ms)), 1)),
      String(Math.max(...times.map((one) => one.p99_ms))),
    ];
  });
}

function ending(samples: readonly Sample[], verdict: Verdict): string {
  const { answers, wrong, refused, warnings, errors, isLongEnough, holds } = verdict;
  const listed = Object.entries(wrong).map(([what, count]) => `${what} (${count})`);
  const cpu = (name: string) =>
    rounded(median(samples.map(({ services }) => services[name]?.cpu_percent ?? Number.NaN)), 1);
  const processors = Object.keys(samples[0]?.services ?? {}).map((name) => `${name} ${cpu(name)} %`);
  return [
    `Of ${grouped(answers)} answers ${listed.length === 0 ? 'none was' : 'these were'} wrong${listed.length === 0 ? '' : `: ${listed.join(', ')}`}, and ${refused} were 503. The logs have ${warnings} warnings and ${errors} errors.`,
    `Processor time, of a core: ${processors.join(', ')}.`,
    isLongEnough ? `The verdict: it ${holds ? 'holds' : 'does not hold'}.` : 'It was too short for a verdict.',
  ].join(' ');
}
