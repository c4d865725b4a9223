import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { times } from '#test/times.ts';
import { createSemaphore, withTimeLimit } from '#shared/waiting.ts';

it('a semaphore admits a maximum, and then waiters in order', async () => {
  const acquire = createSemaphore(2);
  const entered: number[] = [];
  const leaving = times(4, async (index) => {
    const leave = await acquire();
    entered.push(index);
    return leave;
  });
  const leave = async (index: number) => (await leaving[index])?.();
  await setImmediate();
  expect(entered).toEqual([0, 1]);
  await leave(1);
  await setImmediate();
  expect(entered).toEqual([0, 1, 2]);
  for (const index of [0, 2, 3]) await leave(index);
  await acquire();
  await acquire();
});

describe('a time limit', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const late = () => new Error('late');

  it('returns the result or error of the work, and leaves no timer', async () => {
    expect(await withTimeLimit(100, late, async () => 'done')).toBe('done');
    await expect(
      withTimeLimit(100, late, () => Promise.reject(new Error('broken'))),
    ).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('fails after the time, aborts the work, and ignores its outcome', async () => {
    const work = Promise.withResolvers<string>();
    let given: AbortSignal | undefined;
    const limited = withTimeLimit(100, late, (signal) => {
      given = signal;
      return work.promise;
    });
    const failed = expect(limited).rejects.toThrow('late');
    await vi.advanceTimersByTimeAsync(99);
    expect(given?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await failed;
    expect(given?.reason).toEqual(new Error('late'));
    // An unhandled rejection would end the process.
    work.reject(new Error('too late'));
  });

  it('lets an answer count that arrived in time, during a long turn of the event loop', async () => {
    vi.useRealTimers();
    const limited = withTimeLimit(20, late, async () => {
      await setImmediate();
      const end = performance.now() + 40;
      while (performance.now() < end);
      await setImmediate();
      return 'in time';
    });
    expect(await limited).toBe('in time');
  });
});
