import { describe, expect, it } from 'vitest';
import {
  countApplied,
  hasReached,
  lagOf,
  missingBetween,
  reachable,
} from '#shared/kafka/positions.ts';

const bounds = new Map([
  [0, { start: 10, end: 50 }],
  [1, { start: 0, end: 5 }],
]);

describe('the lag of a partition', () => {
  it.each([
    ['is what lies between the position and the end of the log', 45, 5],
    ['is the whole log while no checkpoint was made', null, 40],
    ['is unknown where the checkpoint belongs to another log', 51, null],
  ])('%s', (_name, position, lag) => {
    expect(lagOf(position, { start: 10, end: 50 })).toBe(lag);
  });
});

it('the progress of a generation counts the messages of the log that it has applied', () => {
  expect(countApplied(new Map([[0, 20]]), bounds)).toEqual({ applied: 10, total: 45 });
  expect(countApplied(new Map([[1, 9]]), bounds)).toEqual({ applied: 5, total: 45 });
});

it('a generation counts as caught up with others only if no partition is behind them', () => {
  const others = new Map([
    [0, 20],
    [1, 3],
  ]);
  expect(hasReached(new Map([[0, 25]]), others)).toBe(false);
  expect(missingBetween(new Map([[0, 25]]), others)).toBe(3);
  expect(hasReached(others, others)).toBe(true);
  expect([...reachable(new Map([[0, 60]]), bounds)]).toEqual([[0, 50]]);
});
