/** Runs the simulated world with new seeds, and with a few planted mistakes that it must find. */
import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findMistake } from './mistakes/find.ts';
import { MISTAKES } from './mistakes/mistakes.ts';
import { simulate } from './simulate.ts';
import { runHistory } from './world.ts';

const SECONDS = 20;
const PLANTED = 5;
const FINDING_SECONDS = 120;

/** Histories that broke a promise once. */
const PERMANENT = [20_563, 2_127, 368_122_291, 561_892_791];

// A seed that fails is a bug: another one proves nothing.
describe('the simulated world', { retry: 0 }, () => {
  it.each(PERMANENT)('keeps every promise in the history of seed %i', async (seed) => {
    const { violation, trace } = await runHistory(seed);
    expect([...(violation === null ? [] : trace), violation?.message ?? 'kept'].join('\n')).toBe(
      'kept',
    );
  });

  it('keeps every promise in new histories', async () => {
    const { summary, broken } = await simulate(randomInt(2 ** 31), SECONDS * 1_000);
    process.stdout.write(`simulation: ${summary}\n`);
    expect([...(broken ?? []), summary].join('\n')).toMatch(/every promise was kept$/);
  });

  it('is deterministic for each seed', async () => {
    const seed = randomInt(2 ** 31);
    const [one, other] = [await runHistory(seed), await runHistory(seed)];
    expect(other.trace).toEqual(one.trace);
    expect(other.steps).toBe(one.steps);
  });

  it('keeps every promise in a copy of the code without a mistake', async () => {
    const nothing = { file: 'package.json', replace: '"type": "module"', by: '"type": "module"' };
    expect(await findMistake(nothing, 2, randomInt(2 ** 31))).toBeNull();
  });

  const planted = MISTAKES.map((mistake) => ({ ...mistake, order: randomInt(2 ** 31) }))
    .sort((a, b) => a.order - b.order)
    .slice(0, PLANTED);
  it.each(planted)('finds that $mistake', async (mistake) => {
    expect(await findMistake(mistake, FINDING_SECONDS, randomInt(2 ** 31))).not.toBeNull();
  });
});
