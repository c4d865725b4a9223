/** What the services measure, read from their metrics as a program that collects them does, and the orders that MongoDB counts. */
import type { ORDER_STATUSES } from '#shared/events/entities/order.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { statusOfFacet } from '#shared/read-models/rank-tree/keys.ts';

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const LIMIT_MS = 2_000;
const SAMPLE = /^(?<name>[a-z_]+)(?:\{(?<labels>[^}]*)\})? (?<value>\S+)$/;
const LABEL = /(?<name>[a-z_]+)="(?<value>[^"]*)"/g;

/** All samples of a process; `null` when it does not answer. */
export async function scrape(operationsUrl: string): Promise<Sample[] | null> {
  try {
    const response = await fetch(`${operationsUrl}/metrics`, { signal: AbortSignal.timeout(LIMIT_MS) });
    return response.ok ? readSamples(await response.text()) : null;
  } catch {
    return null;
  }
}

/** All samples of a scrape. */
export function readSamples(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const { name, labels = '', value } = SAMPLE.exec(line)?.groups ?? {};
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(({ groups = {} }) => [groups['name'], groups['value']]);
    return [{ name, labels: Object.fromEntries(pairs) as Sample['labels'], value: Number(value) }];
  });
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Whole numbers as people read them: `12,345`. */
export function grouped(value: number): string {
  return whole.format(value);
}

/** The sum of numbers. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** What the projector has done since it was started. */
export interface ProjectorFigures {
  /** Events that took effect. */
  applied: number;
  deadLetters: number;
  /** Messages that are not applied yet; `null` while the projector has no partitions. */
  lag: number | null;
  /** Seconds from events to their commits. */
  freshness: Histogram;
}

/** What a scrape of the projector says. */
export function projectorFigures(samples: readonly Sample[]): ProjectorFigures {
  const valuesOf = (name: string) => samples.filter((one) => one.name === name).map(({ value }) => value);
  const lags = valuesOf('store_data_partition_lag');
  return {
    applied: sum(valuesOf('store_data_events_applied_total')),
    deadLetters: sum(valuesOf('store_data_dead_letters_total')),
    lag: lags.length === 0 ? null : sum(lags),
    freshness: histogramOf(samples, 'store_data_freshness_seconds'),
  };
}

/** How many values were at most so large, by the bound; the last bound is infinite. */
export type Histogram = ReadonlyMap<number, number>;

/** A histogram over all its labels. */
export function histogramOf(samples: readonly Sample[], name: string): Histogram {
  const counts = new Map<number, number>();
  for (const { name: found, labels, value } of samples) {
    if (found !== `${name}_bucket`) continue;
    const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return new Map([...counts].toSorted(([a], [b]) => a - b));
}

/** How many values there are in all. */
export function total(histogram: Histogram): number {
  return histogram.get(Infinity) ?? 0;
}

/**
 * A quantile of the values between two scrapes; `null` without any. Within a bucket values are
 * taken as spread evenly, as Prometheus does; of the last one, which has no end, the result is its beginning.
 */
export function quantile(before: Histogram, after: Histogram, share: number): number | null {
  const wanted = share * (total(after) - total(before));
  if (!(wanted > 0)) return null;
  let [lower, below] = [0, 0];
  for (const [bound, count] of after) {
    const upTo = count - (before.get(bound) ?? 0);
    if (upTo >= wanted) {
      return bound === Infinity ? lower : lower + ((bound - lower) * (wanted - below)) / (upTo - below);
    }
    [lower, below] = [bound, upTo];
  }
  return lower;
}

export type OrdersByStatus = ReadonlyMap<(typeof ORDER_STATUSES)[number], number>;

/**
 * Orders of all stores and environments, counted by the read models in one small document for each store; `null` when MongoDB does not
 * answer.
 */
export async function countOrders(
  databases: Databases,
  environments: readonly string[],
): Promise<OrdersByStatus | null> {
  const counts = new Map<(typeof ORDER_STATUSES)[number], number>();
  try {
    for (const environment of environments) {
      const generation = await findLiveGeneration(databases, environment);
      const stamps = generation?.db.collection<Stamp>(STAMPS);
      const found = stamps?.find({}, { projection: { 'ranks.order.counts': 1 } }).toArray();
      const facets = ((await found) ?? []).flatMap(({ ranks }) => Object.entries(ranks?.order?.counts ?? {}));
      for (const [facet, count] of facets) {
        const status = statusOfFacet(facet);
        if (status !== null) counts.set(status, (counts.get(status) ?? 0) + count);
      }
    }
    return counts;
  } catch {
    return null;
  }
}
