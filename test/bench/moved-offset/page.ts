/** A page of orders from two stores alike, of which one is read in bodies made for another offset. */
import assert from 'node:assert/strict';
import { type InTurnOptions, measureInTurn, type Side, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';
import type { TimedLoad } from '../load/messages.ts';
import { rounded } from '../median.ts';
import { cpuSeconds } from '../projector/process-figures.ts';

/** What one kind of page costs. */
export interface Price extends TimedLoad {
  /** Milliseconds of the query service's processor time for one request. */
  cpu_ms: number;
}

export interface PageResult {
  made: Price;
  shifted: Price;
  /** Median of the rounds' requests a second, made by shifted. */
  ratio: number;
  round_ratios: number[];
}

/** @param pid the query service's. */
export async function measurePages(
  load: Load,
  pid: number,
  { made, shifted }: { made: Side; shifted: Side },
  options: InTurnOptions,
): Promise<PageResult> {
  const [one, other] = await Promise.all(
    [made, shifted].map(async (side) => (await fetch(side.url, side)).text()),
  );
  assert.equal(one, other, 'both kinds of bodies must read the same');
  const spent = new Map<Side['headers'], { seconds: number; requests: number }>();
  const observed: Load = async (order) => {
    const before = await cpuSeconds(pid);
    const result = await load(order);
    const { seconds, requests } = spent.get(order.headers) ?? { seconds: 0, requests: 0 };
    spent.set(order.headers, {
      seconds: seconds + (await cpuSeconds(pid)) - before,
      requests: requests + result.requests_per_second * order.seconds,
    });
    return result;
  };
  const { ratio, round_ratios, ...sides } = summarize(
    await measureInTurn(observed, { ours: made, other: shifted }, options),
  );
  const price = (side: Side, times: TimedLoad): Price => {
    const { seconds, requests } = spent.get(side.headers) ?? { seconds: Number.NaN, requests: 1 };
    return { ...times, cpu_ms: rounded((seconds * 1_000) / requests, 3) };
  };
  return {
    made: price(made, sides.ours),
    shifted: price(shifted, sides.other),
    ratio,
    round_ratios,
  };
}
