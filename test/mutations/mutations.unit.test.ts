/** The texts that faults replace, here and in the simulation, occur in the present code. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MISTAKES } from '../simulation/mistakes/mistakes.ts';
import { MUTATIONS } from './mutations.ts';

const PLANTED = [
  ...MUTATIONS,
  ...MISTAKES.map(({ mistake, ...rest }) => ({ fault: mistake, tests: [], ...rest })),
];

it.each(PLANTED)('can be planted: $fault', ({ file, replace, by, tests }) => {
  expect(readFileSync(file, 'utf8').split(replace)).toHaveLength(2);
  expect(by).not.toBe(replace);
  for (const test of tests) expect(existsSync(test), test).toBe(true);
});
