/** The simulated world for ten minutes, and every planted mistake. */
import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { findMistake } from '../simulation/mistakes/find.ts';
import { MISTAKES } from '../simulation/mistakes/mistakes.ts';
import { simulate } from '../simulation/simulate.ts';

const SECONDS = 600;
const FINDING_SECONDS = 120;

it(
  'the simulated world keeps every promise for ten minutes',
  { timeout: 2 * SECONDS * 1_000 },
  async () => {
    const { summary, broken } = await simulate(randomInt(2 ** 31), SECONDS * 1_000);
    expect([...(broken ?? []), summary].join('\n')).toMatch(/every promise was kept$/);
  },
);

it.each(MISTAKES)(
  'the simulation finds that $mistake',
  { timeout: 3 * FINDING_SECONDS * 1_000 },
  async (mistake) => {
    expect(await findMistake(mistake, FINDING_SECONDS, randomInt(2 ** 31))).not.toBeNull();
  },
);
