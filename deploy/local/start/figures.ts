/** The changing lines of the screen, from the services' metrics and MongoDB. */
import { ORDER_STATUSES } from '#shared/records/order.ts';
import { stampsIn } from '#shared/read-models/collections.ts';
import { type Databases, findLiveGeneration } from '#shared/read-models/generation.ts';
import { statusOfFacet } from '#shared/read-models/rank-tree/keys.ts';
import { pause } from '#shared/waiting.ts';
import type { Screen } from './screen.ts';

/**
 * Metrics by name, of histograms' buckets by `<name> <bound>`, each summed over its other labels.
 */
type Metrics = ReadonlyMap<string, number>;

const LIMIT_MS = 2_000;
const SAMPLE = /^([a-z_]+)(?:\{(?:.*\ble="([^"]*)")?.*\})? (\S+)$/gm;

/** The metrics of a process; `null` when it does not answer. */
async function scrape(operationsUrl: string): Promise<Metrics | null> {
  try {
    const response = await fetch(`${operationsUrl}/metrics`, {
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    if (!response.ok) return null;
    const metrics = new Map<string, number>();
    for (const [, name = '', bound, value] of (await response.text()).matchAll(SAMPLE)) {
      const key = bound === undefined ? name : `${name} ${bound}`;
      metrics.set(key, (metrics.get(key) ?? 0) + Number(value));
    }
    return metrics;
  } catch {
    return null;
  }
}

function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export type ProjectorFigures = ReturnType<typeof projectorFigures>;

function projectorFigures(metrics: Metrics) {
  return {
    applied: metrics.get('store_data_events_applied_total') ?? 0,
    deadLetters: metrics.get('store_data_dead_letters_total') ?? 0,
    /** Messages that are not applied yet; `null` while the projector has no partitions. */
    lag: metrics.get('store_data_partition_lag') ?? null,
    /** Seconds from events to their commits. */
    freshness: histogramOf(metrics, 'store_data_freshness_seconds'),
  };
}

/** The number of values up to each bound; the last bound is infinite. */
type Histogram = ReadonlyMap<number, number>;

function histogramOf(metrics: Metrics, name: string): Histogram {
  const prefix = `${name}_bucket `;
  const buckets = [...metrics].filter(([key]) => key.startsWith(prefix));
  return new Map(
    buckets.map(([key, count]) => [
      Number(key.slice(prefix.length).replace('Inf', 'Infinity')),
      count,
    ]),
  );
}

/** How many values there are in all. */
function total(histogram: Histogram): number {
  return histogram.get(Infinity) ?? 0;
}

/**
 * A quantile of the values between two scrapes, interpolated like Prometheus; `null` without
 * values.
 */
function quantile(before: Histogram, after: Histogram, share: number): number | null {
  const wanted = share * (total(after) - total(before));
  if (!(wanted > 0)) return null;
  let [lower, below] = [0, 0];
  for (const [bound, count] of after) {
    const upTo = count - (before.get(bound) ?? 0);
    if (upTo >= wanted) {
      return bound === Infinity
        ? lower
        : lower + ((bound - lower) * (wanted - below)) / (upTo - below);
    }
    [lower, below] = [bound, upTo];
  }
  return lower;
}

type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The orders of all stores and environments by status, from the stamps. */
async function countOrders(
  databases: Databases,
  environments: readonly string[],
): Promise<Map<OrderStatus, number>> {
  const counts = new Map<OrderStatus, number>();
  for (const environment of environments) {
    const generation = await findLiveGeneration(databases, environment);
    const stamps = generation && stampsIn(generation.db);
    const found =
      (await stamps?.find({}, { projection: { 'ranks.order.counts': 1 } }).toArray()) ?? [];
    for (const [facet, count] of found.flatMap(({ ranks }) =>
      Object.entries(ranks?.order?.counts ?? {}),
    )) {
      const status = statusOfFacet(facet);
      if (status !== null) counts.set(status, (counts.get(status) ?? 0) + count);
    }
  }
  return counts;
}

/** Figures of one moment; `null` for what does not answer. */
export type Moment = Awaited<ReturnType<typeof readMoment>>;

interface Sources {
  projector: string;
  query: string;
  databases: Databases;
  environments: readonly string[];
}

/** The present figures; only the projector's before the history is visible. */
async function readMoment(
  { projector, query, databases, environments }: Sources,
  isVisible: boolean,
) {
  const [ofProjector, ofQuery, orders] = await Promise.all([
    scrape(projector),
    isVisible ? scrape(query) : null,
    isVisible ? countOrders(databases, environments).catch(() => null) : null,
  ]);
  return {
    projector: ofProjector && projectorFigures(ofProjector),
    /** Durations of answers in seconds, as the query service counts them. */
    answers: ofQuery && histogramOf(ofQuery, 'store_data_request_seconds'),
    orders,
  };
}

type Reading = { at: number; applied: number; freshness: Histogram; answers: Histogram };

const RATE_MS = 5_000;
const QUANTILE_MS = 60_000;
const STEPS = 20;
/** Of a duration. */
const WIDEST = 6;
const BARS = '▁▂▃▄▅▆▇█';
const NOTHING: Histogram = new Map();

export class LiveView {
  readonly #stores: number;
  readonly #began: number;
  #readings: Reading[] = [];
  #moment: Moment = { projector: null, answers: null, orders: null };

  constructor(stores: number, now: number) {
    this.#stores = stores;
    this.#began = now;
  }

  take(moment: Moment, now: number): void {
    this.#moment = moment;
    const last = this.#readings.at(-1) ?? { applied: 0, freshness: NOTHING, answers: NOTHING };
    const { applied, freshness } = moment.projector ?? last;
    const reading = { at: now, applied, freshness, answers: moment.answers ?? last.answers };
    // A restarted process counts from zero.
    const isNew =
      total(reading.answers) < total(last.answers) ||
      total(reading.freshness) < total(last.freshness);
    const kept = isNew ? [] : this.#readings.filter(({ at }) => now - at <= QUANTILE_MS);
    this.#readings = [...kept, reading];
  }

  /** All figures, in lines of at most 80 columns. */
  panel(now: number): string[] {
    const { projector, answers, orders } = this.#moment;
    const seconds = Math.floor((now - this.#began) / 1_000);
    const cells = ORDER_STATUSES.map(
      (status) => `${status.padEnd(10)}${grouped(orders?.get(status) ?? 0).padStart(7)}`,
    );
    const head = [
      `${grouped(this.#stores)} stores`,
      orders === null
        ? 'MongoDB does not answer'
        : `${grouped(orders.values().reduce((sum, count) => sum + count, 0))} orders`,
      ...(projector === null
        ? []
        : [
            `backlog ${projector.lag === null ? 'unknown' : grouped(projector.lag)}`,
            `${grouped(projector.deadLetters)} dead letters`,
          ]),
      `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`,
    ];
    return [
      ` ${head.join(' · ')}`,
      ` ${cells.slice(0, 4).join('  ')}`,
      ` ${cells.slice(4).join('  ')}`,
      this.events(),
      answers === null
        ? ' requests  the query service does not answer'
        : ` requests  ${this.#chart('requests')}  answers   ${this.#spread('answers')}`,
    ];
  }

  events(): string {
    if (this.#moment.projector === null) return ' events    the projector does not answer';
    return ` events    ${this.#chart('applied')}  freshness ${this.#spread('freshness')}`;
  }

  #rate(of: 'applied' | 'requests'): string {
    const last = this.#readings.at(-1);
    const first = this.#readings.find(({ at }) => at >= (last?.at ?? 0) - RATE_MS);
    if (last === undefined || first === undefined || first.at === last.at) return '0';
    const rate = ((countOf(last, of) - countOf(first, of)) * 1_000) / (last.at - first.at);
    return rate < 10 ? rate.toLocaleString('en-US', { maximumFractionDigits: 1 }) : grouped(rate);
  }

  #chart(of: 'applied' | 'requests'): string {
    const counts = this.#readings.slice(-STEPS - 1).map((reading) => countOf(reading, of));
    const steps = counts.slice(1).map((count, index) => count - (counts[index] ?? count));
    const highest = Math.max(1, ...steps);
    const bars = steps
      .map((step) => BARS[Math.ceil((step / highest) * (BARS.length - 1))])
      .join('');
    return `${`${this.#rate(of)}/s`.padStart(8)} ${bars.padStart(STEPS)}`;
  }

  /** Median and 99th percentile of the past minute. */
  #spread(of: 'freshness' | 'answers'): string {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    const at = (share: number) =>
      duration(quantile(first?.[of] ?? NOTHING, last?.[of] ?? NOTHING, share));
    return `p50 ${at(0.5).padEnd(WIDEST)} p99 ${at(0.99)}`;
  }
}

function countOf({ applied, answers }: Reading, of: 'applied' | 'requests'): number {
  return of === 'applied' ? applied : total(answers);
}

function duration(seconds: number | null): string {
  if (seconds === null) return '-';
  const [value, unit] = seconds < 1 ? [seconds * 1_000, 'ms'] : [seconds, 's'];
  return `${Number(value.toPrecision(2))} ${unit}`;
}

const INTERVAL_MS = 1_000;

export interface HistoryProgress {
  /** Orders that are published, and that there will be. */
  orders: number;
  ofOrders: number;
  isVisible: boolean;
}

/** Updates the screen until `stopping`. */
export async function showLive(
  screen: Screen,
  sources: Sources,
  { stores, history }: { stores: number; history: Readonly<HistoryProgress> },
  stopping: AbortSignal,
): Promise<void> {
  let view = new LiveView(stores, Date.now());
  for (let wasVisible = false; !stopping.aborted; await pause(INTERVAL_MS, stopping)) {
    const { isVisible, orders, ofOrders } = history;
    const moment = await readMoment(sources, isVisible);
    if (stopping.aborted) break;
    const now = Date.now();
    // The rates of the history would distort those of live traffic.
    if (isVisible && !wasVisible) view = new LiveView(stores, now);
    wasVisible = isVisible;
    view.take(moment, now);
    const progress = ` history   ${grouped(orders)} of ${grouped(ofOrders)} orders published`;
    screen.live(isVisible ? view.panel(now) : [progress, view.events()]);
  }
  screen.live([]);
}
