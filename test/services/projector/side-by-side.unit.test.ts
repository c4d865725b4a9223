import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SideBySide } from '#projector/side-by-side.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('answers as the work does, and does it again once it has ended', async () => {
  const work = new SideBySide();
  expect(await work.run('production', async () => 1, 0)).toBe(1);
  expect(await work.run('production', async () => 2, 0)).toBe(2);
  await work.ended();
});

it('waits for a while, begins nothing anew that is under way, and does the work of others meanwhile', async () => {
  const work = new SideBySide();
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = work.run('sandbox', () => promise, 'late');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await slow).toBe('late');
  expect(await work.run('sandbox', async () => 'a second time', 'late')).toBe('late');
  expect(await work.run('production', async () => 'done', 'late')).toBe('done');
  resolve('done');
  await work.ended();
  expect(await work.run('sandbox', async () => 'a second time', 'late')).toBe('a second time');
});

it('has ended only when nothing is under way', async () => {
  const work = new SideBySide();
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasEnded = false;
  void work.run('sandbox', () => promise, undefined);
  const ending = (async () => {
    await work.ended();
    hasEnded = true;
  })();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(hasEnded).toBe(false);
  resolve();
  await ending;
});
