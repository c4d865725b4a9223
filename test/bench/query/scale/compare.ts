/** Measures one row: what it compares in turn, so that what the machine does besides befalls both. */
import { measureInTurn, rateRatio, type Round, type Side, summarize } from '../../in-turn.ts';
import type { Load } from '../../load/load.ts';
import type { QueryBenchOptions } from '../options.ts';
import type { ScaleRowResult } from './result.ts';
import type { Row } from './rows.ts';

/** Requests that were proven to be answered alike. */
export interface PreparedRow {
  row: Row;
  ours: Side;
  other: Side;
}

const WARM_UP_SECONDS = 1;

export async function compare(
  load: Load,
  { row, ours, other }: PreparedRow,
  { connections: many, seconds, rounds }: Pick<QueryBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<ScaleRowResult> {
  const connections = row.figure === 'latency' ? 1 : many;
  const options = { connections, seconds, rounds, warmUpSeconds: WARM_UP_SECONDS };
  const measured = await measureInTurn(load, { ours, other }, options);
  const isCost = row.target !== null && 'atMost' in row.target;
  const ratioOf = (round: Round) => {
    const faster = row.figure === 'latency' ? round.other.p50_ms / round.ours.p50_ms : rateRatio(round);
    return isCost ? 1 / faster : faster;
  };
  const result = {
    name: row.name,
    path: row.request.path,
    against: row.against.name,
    connections,
    ...summarize(measured, ratioOf),
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
