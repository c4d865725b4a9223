import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PeriodicTask } from '#shared/periodic-task.ts';

describe('a periodic task', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Runs that each end when they are told to. */
  function heldRuns() {
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
    return { runs, failures, work };
  }

  it('runs at once, and again when the pause behind a run is over: never twice at once', async () => {
    const { runs, work } = heldRuns();
    const task = new PeriodicTask(work);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(runs).toHaveLength(1);
    runs[0]?.resolve();
    await vi.advanceTimersByTimeAsync(99);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(2);
    runs[1]?.resolve(5);
    await vi.advanceTimersByTimeAsync(5);
    expect(runs).toHaveLength(3);
    runs[2]?.resolve();
    await task.stop();
  });

  it('begins after a delay where that is wanted', async () => {
    const { runs, work } = heldRuns();
    const task = new PeriodicTask(work, 50);
    await vi.advanceTimersByTimeAsync(49);
    expect(runs).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(1);
    runs[0]?.resolve();
    await task.stop();
  });

  it('can be woken in a pause, and during a run: then another one follows at once', async () => {
    const { runs, work } = heldRuns();
    const task = new PeriodicTask(work);
    task.wake();
    task.wake();
    runs[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toHaveLength(2);
    runs[1]?.resolve();
    await vi.advanceTimersByTimeAsync(50);
    expect(runs).toHaveLength(2);
    task.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toHaveLength(3);
    runs[2]?.resolve();
    await task.stop();
  });

  it('tells a failure once for as long as it stays the same, and tries again sooner', async () => {
    const { runs, failures, work } = heldRuns();
    const task = new PeriodicTask(work);
    const ends = [new Error('away'), new Error('away'), new Error('full'), null, new Error('full')];
    for (const [index, end] of ends.entries()) {
      if (end === null) runs[index]?.resolve();
      else runs[index]?.reject(end);
      await vi.advanceTimersByTimeAsync(end === null ? 100 : 10);
      expect(runs).toHaveLength(index + 2);
    }
    expect(failures).toEqual(['Error: away', 'Error: full', 'Error: full']);
    runs.at(-1)?.resolve();
    await task.stop();
  });

  it('stops in a pause at once, and after the run that is under way: what that fails with is not told', async () => {
    const paused = heldRuns();
    const resting = new PeriodicTask(paused.work);
    paused.runs[0]?.resolve();
    await vi.advanceTimersByTimeAsync(1);
    await resting.stop();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(paused.runs).toHaveLength(1);

    const { runs, failures, work } = heldRuns();
    const task = new PeriodicTask(work);
    let isStopped = false;
    const stopping = (async () => {
      await task.stop();
      isStopped = true;
    })();
    task.wake();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isStopped).toBe(false);
    runs[0]?.reject(new Error('interrupted'));
    await stopping;
    expect(runs).toHaveLength(1);
    expect(failures).toEqual([]);
  });
});
