/** Measures one row: what it compares in turn, so that what the machine does besides befalls both. */
import type { Load } from '../../load/load.ts';
import type { TimedLoad } from '../../load/messages.ts';
import { median } from '../../median.ts';
import type { PreparedSide } from '../agreement.ts';
import type { QueryBenchOptions } from '../options.ts';
import { rounded } from '../rounds.ts';
import type { ScaleRowResult } from './result.ts';
import type { Row } from './rows.ts';

/** Requests that were proven to be answered alike. */
export interface PreparedRow {
  row: Row;
  ours: PreparedSide;
  other: PreparedSide;
}

const WARM_UP_SECONDS = 1;

export async function compare(
  load: Load,
  { row, ours, other }: PreparedRow,
  { connections: many, seconds, rounds }: Pick<QueryBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<ScaleRowResult> {
  const connections = row.figure === 'latency' ? 1 : many;
  const run = (side: PreparedSide, length: number) => load({ ...side, connections, seconds: length });
  await run(ours, WARM_UP_SECONDS);
  await run(other, WARM_UP_SECONDS);
  const measured: { ours: TimedLoad; other: TimedLoad }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), other: await run(other, seconds) });
  }
  const isCost = row.target !== null && 'atMost' in row.target;
  const ratios = measured.map((round) => {
    const faster =
      row.figure === 'latency'
        ? round.other.p50_ms / round.ours.p50_ms
        : round.ours.requests_per_second / round.other.requests_per_second;
    return isCost ? 1 / faster : faster;
  });
  const result = {
    name: row.name,
    path: row.request.path,
    against: row.against.name,
    connections,
    ours: medians(measured.map((round) => round.ours)),
    other: medians(measured.map((round) => round.other)),
    ratio: rounded(median(ratios), 2),
    round_ratios: ratios.map((ratio) => rounded(ratio, 2)),
    target: row.target,
    p95_target_ms: row.p95Ms,
  };
  return { ...result, is_met: isMet(result) };
}

function isMet({ ratio, target, ours, p95_target_ms: p95 }: Omit<ScaleRowResult, 'is_met'>): boolean | null {
  if (target === null) return null;
  const isRatioMet = 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost;
  return isRatioMet && (p95 === null || ours.p95_ms < p95);
}

function medians(results: readonly TimedLoad[]): TimedLoad {
  const of = (figure: keyof TimedLoad) => rounded(median(results.map((result) => result[figure])), 2);
  return {
    requests_per_second: of('requests_per_second'),
    p50_ms: of('p50_ms'),
    p95_ms: of('p95_ms'),
    p99_ms: of('p99_ms'),
  };
}
