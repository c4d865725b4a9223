/** Measures two sides alternately, so that other load of the machine affects both. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Load, LoadOrder } from './load/load.ts';
import { median } from './median.ts';
import { cpuSeconds } from './process-figures.ts';

export interface Side extends Omit<LoadOrder, 'connections' | 'seconds'> {
  /** The measured process. */
  pid: number;
  /** The process of its MongoDB, if there is one here. */
  mongod: number | null;
}

/**
 * The cost of a side. Processor time is reliable on a busy machine, requests per second are not.
 */
interface Figures {
  perSecond: number;
  p99Ms: number;
  /** Processor time of its process per request, in milliseconds. */
  cpuMs: number;
  /** The same for MongoDB. */
  mongodbMs: number;
}
type Round = Record<'ours' | 'other', Figures>;

export interface InTurnOptions {
  connections: number;
  seconds: number;
  rounds: number;
}

export const WARM_UP_SECONDS = 1;

/** Warms both sides up, then measures them alternately. @returns medians of figures and ratios. */
export async function measureInTurn(
  load: Load,
  { ours, other }: Record<'ours' | 'other', Side>,
  { connections, seconds, rounds }: InTurnOptions,
) {
  const run = async ({ pid, mongod, ...order }: Side, length: number): Promise<Figures> => {
    await untilIdle(mongod);
    const spent = () => Promise.all([cpuSeconds(pid), cpuSeconds(mongod)]);
    const [before, mongodbBefore] = await spent();
    const { answers, ...timed } = await load({ ...order, connections, seconds: length });
    const [after, mongodbAfter] = await spent();
    const ofRequest = (spentSeconds: number) => (spentSeconds * 1_000) / answers;
    return {
      ...timed,
      cpuMs: ofRequest(after - before),
      mongodbMs: ofRequest(mongodbAfter - mongodbBefore),
    };
  };
  await run(ours, WARM_UP_SECONDS);
  await run(other, WARM_UP_SECONDS);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ ours: await run(ours, seconds), other: await run(other, seconds) });
  }
  const middle = (of: (round: Round) => number) => median(measured.map(of));
  const figures = (side: keyof Round): Figures => ({
    perSecond: middle((round) => round[side].perSecond),
    p99Ms: middle((round) => round[side].p99Ms),
    cpuMs: middle((round) => round[side].cpuMs),
    mongodbMs: middle((round) => round[side].mongodbMs),
  });
  const cost = ({ cpuMs, mongodbMs }: Figures) => cpuMs + mongodbMs;
  return {
    ours: figures('ours'),
    other: figures('other'),
    /** Our requests per second divided by the other's. */
    ratio: middle((round) => round.ours.perSecond / round.other.perSecond),
    /** The other's processor time including MongoDB's, divided by ours. */
    cpuRatio: middle((round) => cost(round.other) / cost(round.ours)),
  };
}

const IDLE_STEP_MS = 200;
/**
 * MongoDB counts as busy if it takes more processor time in a step, in seconds. The writes of the
 * mixed load take less.
 */
const BUSY_SECONDS = 0.08;

/** Waits for MongoDB: it still works on requests that the load before gave up when it ended. */
async function untilIdle(mongod: number | null): Promise<void> {
  let spent: number;
  do {
    const before = await cpuSeconds(mongod);
    await sleep(IDLE_STEP_MS);
    spent = (await cpuSeconds(mongod)) - before;
  } while (spent > BUSY_SECONDS);
}
