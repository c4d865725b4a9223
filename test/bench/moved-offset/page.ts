/** A page of orders from two stores alike, of which one is read in bodies made for another offset. */
import assert from 'node:assert/strict';
import { type InTurnOptions, measureInTurn, type Side, type SideResult, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';

export interface PageResult {
  made: SideResult;
  shifted: SideResult;
  /** Median of the rounds' requests a second, made by shifted. */
  ratio: number;
  round_ratios: number[];
}

export async function measurePages(
  load: Load,
  { made, shifted }: { made: Side; shifted: Side },
  options: InTurnOptions,
): Promise<PageResult> {
  const [one, two] = await Promise.all(
    [made, shifted].map(async (side) => (await fetch(side.url, side)).text()),
  );
  assert.equal(one, two, 'both kinds of bodies must read the same');
  const compared = summarize(await measureInTurn(load, { ours: made, other: shifted }, options));
  const { ours, other, ...ratios } = compared;
  return { made: ours, shifted: other, ...ratios };
}
