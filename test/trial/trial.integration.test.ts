import { randomInt } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { withSmallTrees } from '#test/small-trees.ts';
import { SMALL_TREES } from './small-trees.ts';
import { runTrial } from './trial.ts';

afterAll(withSmallTrees(...SMALL_TREES));

it(
  'a short trial finds no difference between answers and the model, despite faults, rebuilds and rollbacks',
  { timeout: 400_000 },
  async () => {
    const said: string[] = [];
    const tally = await runTrial({
      seed: randomInt(2 ** 31),
      seconds: 0,
      rounds: 2,
      mongodb: null,
      say: (line) => said.push(line),
    }).catch((error: unknown) => {
      throw new Error(said.join('\n'), { cause: error });
    });
    expect(tally.found).toBeGreaterThan(50);
    expect(tally.topicsGrown).toBe(1);
  },
);
