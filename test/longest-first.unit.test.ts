import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LONGEST } from './longest-first.ts';

it.each(LONGEST)('%s exists', (file) => {
  expect(existsSync(new URL(file, import.meta.url))).toBe(true);
});
