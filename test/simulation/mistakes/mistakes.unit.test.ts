import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MISTAKES } from './mistakes.ts';

it.each(MISTAKES)('can be planted: $mistake', ({ file, replace, by }) => {
  expect(readFileSync(file, 'utf8').split(replace)).toHaveLength(2);
  expect(by).not.toBe(replace);
});
