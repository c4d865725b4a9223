// What a download says about itself.
import { expect, test } from 'vitest';
import { progressLine, steps } from '#local/stack/fetch/progress.ts';

test('tells how much of it is there and how long it has taken', () => {
  const line = progressLine('mongod 6.0.5', 21_000_000, 42_000_000, 3_200);
  expect(line).toBe('fetching mongod 6.0.5: 21 of 42 MB (50 %), 3 s');
});

test('never tells more than all of it, though unpacked files lie beside the download', () => {
  const line = progressLine('mongod 6.0.5', 180_000_000, 42_000_000, 3_200);
  expect(line).toBe('fetching mongod 6.0.5: 42 of 42 MB (100 %), 3 s');
});

test('is told after each tenth, and when nothing has come for long', () => {
  const isWorthALine = steps(100);
  const told = [
    [0, 2_000],
    [9, 4_000],
    [10, 6_000],
    [15, 8_000],
    [95, 10_000],
    [100, 12_000],
    [180, 14_000],
    [180, 20_000],
    [180, 22_000],
  ].filter(([bytes = 0, elapsedMs = 0]) => isWorthALine(bytes, elapsedMs));
  expect(told.map(([, elapsedMs]) => elapsedMs)).toEqual([2_000, 6_000, 10_000, 20_000]);
});
