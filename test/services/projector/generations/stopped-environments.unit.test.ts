import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StoppedEnvironments } from '#projector/generations/stopped-environments.ts';
import { createMetrics } from '#projector/metrics.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SECOND = 1_000;

it('rests longer with each failure, and is shown until it has gone on for a while', async () => {
  const metrics = createMetrics();
  const lines: { level: number; environment: string }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const stopped = new StoppedEnvironments(logger, metrics);
  const shown = async () => (await metrics.environmentStopped.get()).values.map(({ labels }) => labels);
  expect(stopped.rests('sandbox')).toBe(false);
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    stopped.failed('sandbox', new Error('a mistake'));
    vi.advanceTimersByTime(seconds * SECOND - 1);
    expect(stopped.rests('sandbox')).toBe(true);
    vi.advanceTimersByTime(1);
    expect(stopped.rests('sandbox')).toBe(false);
    stopped.goesOn('sandbox');
  }
  expect(stopped.rests('production')).toBe(false);
  expect(await shown()).toEqual([{ environment: 'sandbox' }]);
  vi.advanceTimersByTime(10 * SECOND);
  stopped.goesOn('sandbox');
  expect(await shown()).toEqual([]);
  expect(lines).toHaveLength(9);
  expect(lines[0]).toMatchObject({ level: 60, environment: 'sandbox', error: 'Error: a mistake' });
  stopped.failed('sandbox', new Error('a mistake'));
  vi.advanceTimersByTime(SECOND);
  expect(stopped.rests('sandbox')).toBe(false);
});
