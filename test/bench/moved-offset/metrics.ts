/** What a projector counts, read from its operations port. */

export interface Counts {
  rewritten: number;
  /** Of stores' records that are not looked at yet. */
  left: number;
  failures: number;
  events: number;
  seconds: number;
  within100: number;
  within250: number;
}

/** Reads the counts, summed over all labels. */
export async function readCounts(url: string): Promise<Counts> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const sum = (name: string, label = '') =>
    text
      .split('\n')
      .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  return {
    rewritten: sum('store_data_bodies_rewritten_total'),
    left: sum('store_data_rewriting_records'),
    failures: sum('store_data_transaction_failures_total'),
    events: sum('store_data_freshness_seconds_count'),
    seconds: sum('store_data_freshness_seconds_sum'),
    within100: sum('store_data_freshness_seconds_bucket', 'le="0.1"'),
    within250: sum('store_data_freshness_seconds_bucket', 'le="0.25"'),
  };
}
