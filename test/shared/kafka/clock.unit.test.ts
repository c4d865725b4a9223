import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchClock } from '#shared/kafka/client.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sets only the wall clock, like an operator. */
function moveClock(byMs: number): void {
  vi.setSystemTime(Date.now() + byMs);
}

it('reports within a second only a clock that was set back beyond the tolerance', async () => {
  const told: number[] = [];
  const end = watchClock(5_000, (byMs) => told.push(byMs));
  await vi.advanceTimersByTimeAsync(10_000);
  moveClock(60_000);
  await vi.advanceTimersByTimeAsync(1_000);
  moveClock(-4_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual([]);
  moveClock(-20_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual([20_000]);
  end();
  moveClock(-20_000);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual([20_000]);
});
