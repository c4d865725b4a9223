import { expect, it } from 'vitest';
import { hasReached, reachable } from '#shared/kafka/positions.ts';

it('a generation counts as caught up with others only if no partition is behind them, as far as the log goes', () => {
  const others = new Map([
    [0, 20],
    [1, 3],
  ]);
  expect(hasReached(new Map([[0, 25]]), others)).toBe(false);
  expect(hasReached(others, others)).toBe(true);
  const bounds = new Map([[0, { start: 10, end: 50 }]]);
  expect([...reachable(new Map([[0, 60]]), bounds)]).toEqual([[0, 50]]);
});
