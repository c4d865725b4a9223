/** Measures one request on both sides in turn, so that what the machine does besides befalls both. */
import type { Load } from '../load/load.ts';
import type { LoadResult } from '../load/messages.ts';
import { median } from '../median.ts';
import type { Prepared, PreparedSide } from './agreement.ts';
import type { QueryBenchOptions } from './options.ts';
import type { RowResult } from './result.ts';

const WARM_UP_SECONDS = 1;

export async function measure(
  load: Load,
  { request, bodyBytes, ours, usualWay }: Prepared,
  { connections, seconds, rounds }: Pick<QueryBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<RowResult> {
  const run = (side: PreparedSide, length: number) => load({ ...side, connections, seconds: length });
  await run(ours, WARM_UP_SECONDS);
  await run(usualWay, WARM_UP_SECONDS);
  const measured: { ours: LoadResult; usualWay: LoadResult }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), usualWay: await run(usualWay, seconds) });
  }
  const ratios = measured.map((round) => round.ours.requests_per_second / round.usualWay.requests_per_second);
  return {
    name: request.name,
    path: request.path,
    poll: request.poll,
    body_bytes: bodyBytes,
    ours: medians(measured.map((round) => round.ours)),
    usual_way: medians(measured.map((round) => round.usualWay)),
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

/** A figure with some digits behind the point. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
