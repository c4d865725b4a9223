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

/**
 * A quantile of the values between two scrapes, interpolated like Prometheus; `null` without
 * values.
 */
function quantile(before: Histogram, after: Histogram, share: number): number | null {
  const wanted = share * ((after.get(Infinity) ?? 0) - (before.get(Infinity) ?? 0));
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
    if (generation === null) continue;
    const options = { projection: { 'ranks.order.counts': 1 } };
    for await (const { ranks } of stampsIn(generation.db).find({}, options)) {
      for (const [facet, count] of Object.entries(ranks?.order?.counts ?? {})) {
        const status = statusOfFacet(facet);
        if (status !== null) counts.set(status, (counts.get(status) ?? 0) + count);
      }
    }
  }
  return counts;
}

interface Sources {
  projector: string;
  query: string;
  databases: Databases;
  environments: readonly string[];
}

/** The present figures, `null` for what does not answer; only the projector's before the history is visible. */
async function readMoment(
  { projector, query, databases, environments }: Sources,
  isVisible: boolean,
) {
  const [ofProjector, ofQuery, orders] = await Promise.all([
    scrape(projector),
    isVisible ? scrape(query) : null,
    isVisible ? countOrders(databases, environments).catch(() => null) : null,
  ]);
  return { at: Date.now(), projector: ofProjector, query: ofQuery, orders };
}

type Moment = Awaited<ReturnType<typeof readMoment>>;

/** What rates and quantiles cover. */
const WINDOW_MS = 30_000;

/** All figures, in lines of at most 80 columns. @param window the moments up to the present one. */
function panel(stores: number, seconds: number, window: readonly Moment[]): string[] {
  const { projector, orders } = window.at(-1) ?? {};
  const cells = ORDER_STATUSES.map(
    (status) => `${status.padEnd(10)}${grouped(orders?.get(status) ?? 0).padStart(7)}`,
  );
  const head = [
    `${grouped(stores)} stores`,
    orders
      ? `${grouped(orders.values().reduce((sum, count) => sum + count, 0))} orders`
      : 'MongoDB does not answer',
    `backlog ${projector?.get('store_data_partition_lag') ?? 'unknown'}`,
    `${projector?.get('store_data_dead_letters_total') ?? 0} dead letters`,
    `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`,
  ];
  return [
    ` ${head.join(' · ')}`,
    ` ${cells.slice(0, 4).join('  ')}`,
    ` ${cells.slice(4).join('  ')}`,
    rateLine(window, EVENTS),
    rateLine(window, REQUESTS),
  ];
}

interface Rate {
  title: string;
  of: 'projector' | 'query';
  counter: string;
  /** The histogram whose quantiles are shown, and what they are of. */
  histogram: string;
  durations: string;
}

const EVENTS: Rate = {
  title: 'events',
  of: 'projector',
  counter: 'store_data_events_applied_total',
  histogram: 'store_data_freshness_seconds',
  durations: 'freshness',
};
const REQUESTS: Rate = {
  title: 'requests',
  of: 'query',
  counter: 'store_data_request_seconds_count',
  histogram: 'store_data_request_seconds',
  durations: 'answers',
};

/** The rate of a counter in the window, and the median and 99th percentile of durations. */
function rateLine(
  window: readonly Moment[],
  { title, of, counter, histogram, durations }: Rate,
): string {
  const named = ` ${title.padEnd(10)}`;
  const last = window.at(-1);
  const now = last?.[of];
  if (!last || !now) return `${named}the service does not answer`;
  const countIn = (metrics: Metrics) => metrics.get(counter) ?? 0;
  // A restarted process counts from zero.
  const first =
    window.find(({ [of]: then }) => then !== null && countIn(then) <= countIn(now)) ?? last;
  const before = first[of] ?? now;
  const rate = ((countIn(now) - countIn(before)) * 1_000) / Math.max(1, last.at - first.at);
  const perSecond =
    rate < 10 ? rate.toLocaleString('en-US', { maximumFractionDigits: 1 }) : grouped(rate);
  const [old, recent] = [histogramOf(before, histogram), histogramOf(now, histogram)];
  const at = (share: number) => duration(quantile(old, recent, share));
  return `${named}${`${perSecond}/s`.padStart(8)}  ${durations.padEnd(9)} p50 ${at(0.5).padEnd(6)} p99 ${at(0.99)}`;
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
  let began = 0;
  let window: Moment[] = [];
  for (; !stopping.aborted; await pause(INTERVAL_MS, stopping)) {
    const { isVisible, orders, ofOrders } = history;
    const moment = await readMoment(sources, isVisible);
    if (stopping.aborted) break;
    // The rates of the history would distort those of live traffic.
    if (isVisible && began === 0) {
      began = moment.at;
      window = [];
    }
    window = [...window.filter(({ at }) => moment.at - at <= WINDOW_MS), moment];
    const progress = ` history   ${grouped(orders)} of ${grouped(ofOrders)} orders published`;
    const seconds = Math.floor((moment.at - began) / 1_000);
    screen.live(isVisible ? panel(stores, seconds, window) : [progress, rateLine(window, EVENTS)]);
  }
  screen.live([]);
}
