/** What the services measure: their metrics, read as a program that collects them does. */

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
    const pairs = [...labels.matchAll(LABEL)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['value'] ?? '',
    ]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The sum of numbers. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
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
 * Which value that share of those is at most that came between two looks; `null` where none came. Within a bucket values are
 * taken as spread evenly, as Prometheus does; of the last one, which has no end, its beginning is told.
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
