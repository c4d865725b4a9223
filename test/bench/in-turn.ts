/** Measures two sides alternately, so that other load of the machine affects both. */
import type { Load, LoadOrder, TimedLoad } from './load/load.ts';
import { median, rounded } from './median.ts';
import { cpuSeconds } from './process-figures.ts';

export interface Side extends Omit<LoadOrder, 'connections' | 'seconds'> {
  /** The measured process. */
  pid: number;
  /** The process of its MongoDB. */
  mongod?: number;
}

/**
 * The cost of a side. Processor time is reliable on a busy machine, requests per second are not.
 */
export interface SideResult extends TimedLoad {
  /** Processor time of its process per request, in milliseconds. */
  cpu_ms: number;
  /** The same for MongoDB, if measured. */
  mongodb_ms: number;
}

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

/** Warms both sides up, then measures them alternately. */
export async function measureInTurn(
  load: Load,
  { ours, other }: { ours: Side; other: Side },
  { connections, seconds, rounds, warmUpSeconds }: InTurnOptions,
): Promise<Round[]> {
  const run = async ({ pid, mongod, ...order }: Side, length: number): Promise<SideResult> => {
    const spent = async () => [
      await cpuSeconds(pid),
      mongod === undefined ? 0 : await cpuSeconds(mongod),
    ];
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
export function summarize(
  measured: readonly Round[],
  ratioOf: (round: Round) => number = rateRatio,
) {
  const ratios = measured.map(ratioOf);
  return {
    ours: medians(measured.map(({ ours }) => ours)),
    other: medians(measured.map(({ other }) => other)),
    ratio: rounded(median(ratios), 2),
    round_ratios: ratios.map((ratio) => rounded(ratio, 2)),
  };
}

/** Our requests per second divided by the other's. */
export function rateRatio({ ours, other }: Round): number {
  return ours.requests_per_second / other.requests_per_second;
}

function medians(results: readonly SideResult[]): SideResult {
  const of = (figure: keyof SideResult, digits = 2) =>
    rounded(median(results.map((result) => result[figure])), digits);
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
