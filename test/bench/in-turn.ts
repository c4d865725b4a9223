/** Measures two sides alternately, so that other load of the machine affects both. */
import type { Load, LoadOrder, TimedLoad } from './load/load.ts';
import { median, rounded } from './median.ts';
import { cpuSeconds } from './process-figures.ts';

export interface Side extends Omit<LoadOrder, 'connections' | 'seconds'> {
  /** The measured process. */
  pid: number;
  /** The process of its MongoDB. */
  mongod: number;
}

/**
 * The cost of a side. Processor time is reliable on a busy machine, requests per second are not.
 */
export interface SideResult extends TimedLoad {
  /** Processor time of its process per request, in milliseconds. */
  cpu_ms: number;
  /** The same for MongoDB. */
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
}

export const WARM_UP_SECONDS = 1;

/** Warms both sides up, then measures them alternately. */
export async function measureInTurn(
  load: Load,
  { ours, other }: { ours: Side; other: Side },
  { connections, seconds, rounds }: InTurnOptions,
): Promise<Round[]> {
  const run = async ({ pid, mongod, ...order }: Side, length: number): Promise<SideResult> => {
    const spent = () => Promise.all([cpuSeconds(pid), cpuSeconds(mongod)]);
    const [before, mongodbBefore] = await spent();
    const result = await load({ ...order, connections, seconds: length });
    const [after, mongodbAfter] = await spent();
    const ofRequest = (spentSeconds: number) => (spentSeconds * 1_000) / result.answers;
    return {
      ...result,
      cpu_ms: ofRequest(after - before),
      mongodb_ms: ofRequest(mongodbAfter - mongodbBefore),
    };
  };
  await run(ours, WARM_UP_SECONDS);
  await run(other, WARM_UP_SECONDS);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), other: await run(other, seconds) });
  }
  return measured;
}

/** The medians of both sides, and of the rounds' ratios. */
export function summarize(measured: readonly Round[], ratioOf: (round: Round) => number) {
  return {
    ours: medians(measured.map(({ ours }) => ours)),
    other: medians(measured.map(({ other }) => other)),
    ratio: rounded(median(measured.map(ratioOf)), 2),
  };
}

/** Processor time including MongoDB's, ours divided by the other's. */
export function costRatio({ ours, other }: Round): number {
  return (ours.cpu_ms + ours.mongodb_ms) / (other.cpu_ms + other.mongodb_ms);
}

function medians(results: readonly SideResult[]): SideResult {
  const of = (figure: keyof SideResult, digits = 2) =>
    rounded(median(results.map((result) => result[figure])), digits);
  return {
    requests_per_second: of('requests_per_second'),
    p50_ms: of('p50_ms'),
    p99_ms: of('p99_ms'),
    answers: of('answers', 0),
    cpu_ms: of('cpu_ms', 3),
    mongodb_ms: of('mongodb_ms', 3),
  };
}
