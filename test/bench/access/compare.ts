/** Measures two sides in turn, so that what the machine does besides befalls both. */
import type { Load } from '../load/load.ts';
import type { LoadOrder, LoadResult } from '../load/messages.ts';
import { median } from '../median.ts';
import type { AccessBenchOptions } from './command.ts';
import type { Comparison } from './result.ts';

const WARM_UP_SECONDS = 2;

type Side = Omit<LoadOrder, 'connections' | 'seconds'>;

export async function compare(
  load: Load,
  { name, ours, other }: { name: string; ours: Side; other: Side },
  { connections, seconds, rounds }: Pick<AccessBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<Comparison> {
  const run = (side: Side, length: number) => load({ ...side, connections, seconds: length });
  await run(ours, WARM_UP_SECONDS);
  await run(other, WARM_UP_SECONDS);
  const measured: { ours: LoadResult; other: LoadResult }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), other: await run(other, seconds) });
  }
  const ratios = measured.map((round) => round.ours.requests_per_second / round.other.requests_per_second);
  return {
    name,
    ours: medians(measured.map((round) => round.ours)),
    other: medians(measured.map((round) => round.other)),
    ratio: rounded(median(ratios), 2),
    round_ratios: ratios.map((ratio) => rounded(ratio, 2)),
  };
}

function medians(results: readonly LoadResult[]): LoadResult {
  return {
    requests_per_second: rounded(median(results.map((result) => result.requests_per_second)), 1),
    p50_ms: rounded(median(results.map(({ p50_ms: p50 }) => p50)), 2),
    p99_ms: rounded(median(results.map(({ p99_ms: p99 }) => p99)), 2),
  };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
