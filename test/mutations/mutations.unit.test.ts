import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MUTATIONS } from './mutations.ts';

it.each(MUTATIONS)('can be planted: $fault', ({ file, replace, by, tests }) => {
  expect(readFileSync(file, 'utf8').split(replace)).toHaveLength(2);
  expect(by).not.toBe(replace);
  for (const test of tests) expect(existsSync(test), test).toBe(true);
});
