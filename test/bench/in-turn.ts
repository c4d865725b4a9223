/** Measures two sides in turn, so that other work of the machine affects both. */
import type { Load, LoadOrder, TimedLoad } from './load/load.ts';
import { median, rounded } from './median.ts';
import { cpuSeconds } from './process-figures.ts';

export interface Side extends Omit<LoadOrder, 'connections' | 'seconds'> {
  /** The process that answers. */
  pid: number;
  /** That of its MongoDB. */
  mongod?: number;
}

/** What a side costs: its processor time lasts where requests a second are those of a busy machine. */
export interface SideResult extends TimedLoad {
  /** Milliseconds of its process's processor time for one request. */
  cpu_ms: number;
  /** The same of MongoDB, where that is measured. */
  mongodb_ms: number;
}

/** What one round measured. */
export interface Round {
  ours: SideResult;
  other: SideResult;
}

export interface InTurnOptions {
  connections: number;
  seconds: number;
  rounds: number;
  warmUpSeconds: number;
}

/** Warms both up, then measures one after the other, round by round. */
export async function measureInTurn(
  load: Load,
  { ours, other }: { ours: Side; other: Side },
  { connections, seconds, rounds, warmUpSeconds }: InTurnOptions,
): Promise<Round[]> {
  const run = async ({ pid, mongod, ...order }: Side, length: number): Promise<SideResult> => {
    const spent = async () => [await cpuSeconds(pid), mongod === undefined ? 0 : await cpuSeconds(mongod)];
    const [before = 0, mongodbBefore = 0] = await spent();
    const result = await load({ ...order, connections, seconds: length });
    const [after = 0, mongodbAfter = 0] = await spent();
    const ofRequest = (spentSeconds: number) => (spentSeconds * 1_000) / result.answers;
    return {
      ...result,
      cpu_ms: ofRequest(after - before),
      mongodb_ms: ofRequest(mongodbAfter - mongodbBefore),
    };
  };
  await run(ours, warmUpSeconds);
  await run(other, warmUpSeconds);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), other: await run(other, seconds) });
  }
  return measured;
}

/** The medians of both sides, and of the rounds' ratios. */
export function summarize(measured: readonly Round[], ratioOf: (round: Round) => number = rateRatio) {
  const ratios = measured.map(ratioOf);
  return {
    ours: medians(measured.map(({ ours }) => ours)),
    other: medians(measured.map(({ other }) => other)),
    ratio: rounded(median(ratios), 2),
    round_ratios: ratios.map((ratio) => rounded(ratio, 2)),
  };
}

/** Ours by the other's requests a second. */
export function rateRatio({ ours, other }: Round): number {
  return ours.requests_per_second / other.requests_per_second;
}

function medians(results: readonly SideResult[]): SideResult {
  const of = (figure: keyof SideResult, digits = 2) => rounded(median(results.map((result) => result[figure])), digits);
  return {
    requests_per_second: of('requests_per_second'),
    p50_ms: of('p50_ms'),
    p95_ms: of('p95_ms'),
    p99_ms: of('p99_ms'),
    answers: of('answers', 0),
    cpu_ms: of('cpu_ms', 3),
    mongodb_ms: of('mongodb_ms', 3),
  };
}
