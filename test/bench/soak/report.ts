/**
 * The samples of a soak, and its verdict: the least-squares slope of each figure over the last
 * three quarters, compared with a limit.
 */
import { grouped, table } from '../frame.ts';
import { median, rounded } from '../median.ts';

/**
 * A process at the time of a sample; its processor time and log lines since the previous sample.
 */
export interface ServiceFigures {
  rss_mib: number;
  /** Active handles of the event loop, as Node counts them. */
  handles: number;
  descriptors: number;
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
  /** Minutes since the load began. */
  minute: number;
  load: number;
  services: Record<string, ServiceFigures>;
  mongodb: { connections: number };
  redis: { clients: number; memory_mib: number };
  /** By kind, since the previous sample. */
  answers: Record<string, Times>;
  /** Wrong answers by kind and reason, since the previous sample. */
  wrong: Record<string, number>;
  /** Answers 503 since the previous sample. */
  refused: number;
}

const MIN_SAMPLES = 20;
const MIN_MINUTES = 30;
/** The tolerated share of 503 answers, for a busy machine. */
const REFUSED_SHARE = 0.001;

/** Figures of each process, and their maximum growth per hour. */
const PER_SERVICE = [
  ['resident MiB', 10, 'rss_mib'],
  ['handles', 3, 'handles'],
  ['file descriptors', 3, 'descriptors'],
] as const;

export function judge(samples: readonly Sample[]) {
  const late = samples.slice(Math.floor(samples.length / 4));
  const trend = (what: string, limit: number, of: (sample: Sample) => number | undefined) => {
    const points = late.map((sample) => ({ x: sample.minute / 60, y: of(sample) ?? Number.NaN }));
    const slope = leastSquaresSlope(points);
    const [first, last] = [points[0], points.at(-1)].map((point) => point?.y ?? Number.NaN);
    return { what, first, last, perHour: rounded(slope, 2), limit, holds: slope <= limit };
  };
  const trends = [
    ...Object.keys(samples[0]?.services ?? {}).flatMap((name) =>
      PER_SERVICE.map(([what, limit, figure]) =>
        trend(`${name}: ${what}`, limit, ({ services }) => services[name]?.[figure]),
      ),
    ),
    trend('MongoDB: connections', 3, ({ mongodb }) => mongodb.connections),
    trend('Redis: clients', 3, ({ redis }) => redis.clients),
    trend('Redis: MiB', 3, ({ redis }) => redis.memory_mib),
  ];
  const sum = (of: (sample: Sample) => number[]) =>
    samples.flatMap(of).reduce((all, one) => all + one, 0);
  const answers = sum((sample) => Object.values(sample.answers).map(({ count }) => count));
  const refused = sum((sample) => [sample.refused]);
  const warnings = sum(({ services }) =>
    Object.values(services).map((service) => service.warnings),
  );
  const errors = sum(({ services }) => Object.values(services).map((service) => service.errors));
  const wrong = samples.flatMap((sample) => Object.entries(sample.wrong));
  const isRight = wrong.length === 0 && refused <= answers * REFUSED_SHARE && errors === 0;
  const holds = isRight && trends.every((one) => one.holds);
  const isLongEnough = late.length >= MIN_SAMPLES && (samples.at(-1)?.minute ?? 0) >= MIN_MINUTES;
  return { holds, isLongEnough, trends, answers, wrong, refused, warnings, errors };
}

/** The slope of the least-squares line. */
export function leastSquaresSlope(points: readonly { x: number; y: number }[]): number {
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const along = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0);
  return along / points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
}

const TREND_TITLES = [
  'figure',
  'after a quarter',
  'at the end',
  'growth per hour',
  'limit',
  'kept',
];
const TIME_TITLES = ['kind of request', 'answers', 'p50 ms', 'p99 ms', 'worst p99 ms'];

export function render({ samples }: { samples: readonly Sample[] }): string {
  const { trends, answers, wrong, refused, warnings, errors, isLongEnough, holds } = judge(samples);
  const load = rounded(median(samples.map((sample) => sample.load)), 1);
  const wrongAnswers =
    wrong.length === 0 ? 'none' : wrong.map(([what, count]) => `${what} (${count})`).join(', ');
  const cpuOf = (name: string) =>
    rounded(median(samples.map(({ services }) => services[name]?.cpu_percent ?? Number.NaN)), 1);
  const processors = Object.keys(samples[0]?.services ?? {}).map(
    (name) => `${name} ${cpuOf(name)} %`,
  );
  return [
    `${Math.round(samples.at(-1)?.minute ?? 0)} minutes; load average ${load} in the median.`,
    '',
    table(
      TREND_TITLES,
      trends.map(({ holds: isKept, ...figures }) => [
        ...Object.values(figures).map(String),
        isKept ? 'yes' : 'no',
      ]),
    ),
    table(TIME_TITLES, timeRows(samples)),
    `Of ${grouped(answers)} answers ${refused} were 503. Wrong: ${wrongAnswers}. The logs have ${warnings} warnings and ${errors} errors.`,
    `Processor time, of a core: ${processors.join(', ')}.`,
    isLongEnough
      ? `The verdict: it ${holds ? 'holds' : 'does not hold'}.`
      : 'It was too short for a verdict.',
  ].join('\n');
}

/** Medians over the intervals, which a busy moment of the machine does not change. */
function timeRows(samples: readonly Sample[]): string[][] {
  const kinds = [...new Set(samples.flatMap(({ answers }) => Object.keys(answers)))].toSorted();
  return kinds.map((kind) => {
    const times = samples.flatMap(({ answers }) => answers[kind] ?? []);
    const p99 = times.map(({ p99_ms }) => p99_ms);
    return [
      kind,
      grouped(times.reduce((sum, { count }) => sum + count, 0)),
      ...[median(times.map(({ p50_ms }) => p50_ms)), median(p99), Math.max(...p99)].map((ms) =>
        String(rounded(ms, 1)),
      ),
    ];
  });
}
