import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startPeriodicTask } from '#shared/periodic-task.ts';

describe('a periodic task', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A task whose runs the test ends. */
  function start(delayMs?: number) {
    const runs: PromiseWithResolvers<number | void>[] = [];
    const failures: string[] = [];
    const work = {
      run: () => {
        const held = Promise.withResolvers<number | void>();
        runs.push(held);
        return held.promise;
      },
      everyMs: 100,
      retryMs: 10,
      failed: (error: string) => failures.push(error),
    };
    const task = startPeriodicTask(work, delayMs);
    /** The number of runs that have begun after some time. */
    const runsAfter = async (milliseconds: number) => {
      await vi.advanceTimersByTimeAsync(milliseconds);
      return runs.length;
    };
    onTestFinished(() => {
      runs.at(-1)?.resolve();
      return task.stop();
    });
    return { task, runs, failures, runsAfter };
  }

  it('runs immediately, and again after a pause, never concurrently', async () => {
    const { runs, runsAfter } = start();
    expect([await runsAfter(0), await runsAfter(1_000)]).toEqual([1, 1]);
    runs[0]?.resolve();
    expect([await runsAfter(99), await runsAfter(1)]).toEqual([1, 2]);
    // A run may return the pause until the next one.
    runs[1]?.resolve(5);
    expect(await runsAfter(5)).toBe(3);
  });

  it('begins after an optional delay', async () => {
    const { runsAfter } = start(50);
    expect([await runsAfter(49), await runsAfter(1)]).toEqual([0, 1]);
  });

  it('can be woken in a pause, and during a run: then another one follows immediately', async () => {
    const { task, runs, runsAfter } = start();
    task.wake();
    task.wake();
    runs[0]?.resolve();
    expect(await runsAfter(0)).toBe(2);
    runs[1]?.resolve();
    expect(await runsAfter(50)).toBe(2);
    task.wake();
    expect(await runsAfter(0)).toBe(3);
  });

  it('reports a failure once while it stays the same, and retries sooner', async () => {
    const { runs, failures, runsAfter } = start();
    const ends = [new Error('away'), new Error('away'), new Error('full'), null, new Error('full')];
    for (const [index, end] of ends.entries()) {
      if (end === null) runs[index]?.resolve();
      else runs[index]?.reject(end);
      expect(await runsAfter(end === null ? 100 : 10)).toBe(index + 2);
    }
    expect(failures).toEqual(['Error: away', 'Error: full', 'Error: full']);
  });

  it('stops immediately in a pause', async () => {
    const { task, runs, runsAfter } = start();
    runs[0]?.resolve();
    await runsAfter(1);
    await task.stop();
    expect(await runsAfter(1_000)).toBe(1);
  });

  it('stops after the present run, whose failure is not logged', async () => {
    const { task, runs, failures, runsAfter } = start();
    const stopped = vi.fn();
    const stopping = task.stop().then(stopped);
    task.wake();
    await runsAfter(1_000);
    expect(stopped).not.toHaveBeenCalled();
    runs[0]?.reject(new Error('interrupted'));
    await stopping;
    expect([runs.length, failures]).toEqual([1, []]);
  });
});
