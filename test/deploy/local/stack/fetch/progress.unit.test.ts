// What a download says about itself.
import { expect, test } from 'vitest';
import { progressLine } from '#local/stack/fetch/progress.ts';

test('tells how much of it is there and how long it has taken', () => {
  const line = progressLine('mongod 6.0.5', 21_000_000, 42_000_000, 3_200);
  expect(line).toBe('fetching mongod 6.0.5: 21 of 42 MB (50 %), 3 s');
});

test('never tells more than all of it, though unpacked files lie beside the download', () => {
  const line = progressLine('mongod 6.0.5', 180_000_000, 42_000_000, 3_200);
  expect(line).toBe('fetching mongod 6.0.5: 42 of 42 MB (100 %), 3 s');
});
