import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Scheduler, Semaphore, type Permits } from '#projector/log/scheduler.ts';

const never = new AbortController().signal;
const SLICE_MS = 30;

function build(scheduler: Scheduler, share = 25): Permits {
  const permits = scheduler.permits({ isBuilding: () => true, share: () => share });
  permits.noteLag('p0', 10_000);
  return permits;
}

/** How long a slice waits for its permit. */
async function wait(permits: Permits): Promise<number> {
  const began = performance.now();
  const permit = await permits.next('p0', never);
  const waited = performance.now() - began;
  await sleep(SLICE_MS);
  permit.end();
  return waited;
}

/**
 * How long a slice behind another one waits, as often as it takes until that is so long as is right: on a busy machine this process may
 * stand still for a moment.
 */
async function untilRight(
  permits: Permits,
  isRight: (waited: number) => boolean,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  for (let time = 1; ; time += 1) {
    await before();
    await wait(permits);
    const waited = await wait(permits);
    if (isRight(waited) || time === 10) return waited;
  }
}
const isNoRest = (waited: number) => waited < SLICE_MS;

describe('a generation that is filled', () => {
  it('does not rest while nothing happens in others', async () => {
    const permits = build(new Scheduler(100));
    expect(await untilRight(permits, isNoRest)).toBeLessThan(SLICE_MS);
  });

  it.each([
    [25, 3],
    [50, 1],
    [100, 0],
  ])('rests in proportion to its share while others are busy: %d %%', async (share, times) => {
    const scheduler = new Scheduler(100);
    const live = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    const permits = build(scheduler, share);
    const answer = async () => (await live.next('p0', never)).end();
    const least = SLICE_MS * times * 0.9;
    const isRight = (waited: number) => (times === 0 ? isNoRest(waited) : waited >= least);
    expect(isRight(await untilRight(permits, isRight, answer))).toBe(true);
  });

  it('takes its slices one at a time', async () => {
    const permits = build(new Scheduler(100));
    const first = await permits.next('p0', never);
    let isSecond = false;
    const second = permits.next('p0', never).then((permit) => {
      isSecond = true;
      return permit;
    });
    await sleep(SLICE_MS);
    expect(isSecond).toBe(false);
    first.end();
    (await second).end();
  });

  it('waits while others have a backlog, though not for ever', async () => {
    const scheduler = new Scheduler(100);
    const live = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    const permits = build(scheduler);
    live.noteLag('p0', 60);
    live.noteLag('p1', 60);
    const freed = sleep(200).then(() => live.noteLag('p0', 0));
    expect(await wait(permits)).toBeGreaterThanOrEqual(190);
    await freed;
    live.noteLag('p0', 1_000_000);
    const waited = await wait(permits);
    expect(waited).toBeGreaterThan(1_500);
    expect(waited).toBeLessThan(30_000);
  });

  it('takes small slices while others are busy', async () => {
    const scheduler = new Scheduler(100);
    const live = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    const permits = build(scheduler, 100);
    const alone = await permits.next('p0', never);
    alone.end();
    (await live.next('p0', never)).end();
    const beside = await permits.next('p0', never);
    beside.end();
    expect([alone.events, beside.events]).toEqual([Infinity, 100]);
  });

  it('keeps up like the others once it is filled', async () => {
    const scheduler = new Scheduler(100);
    const live = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    const permits = build(scheduler, 1);
    live.noteLag('p0', 1_000_000);
    permits.noteLag('p0', 100);
    const answer = async () => (await live.next('p0', never)).end();
    expect(await untilRight(permits, isNoRest, answer)).toBeLessThan(SLICE_MS);
  });

  it('gives up its permit when its consumer stops', async () => {
    const scheduler = new Scheduler(100);
    scheduler.permits({ isBuilding: () => false, share: () => 100 }).noteLag('p0', 1_000_000);
    const permits = build(scheduler);
    const stopped = new AbortController();
    const permit = permits.next('p0', stopped.signal);
    stopped.abort();
    const began = performance.now();
    (await permit).end();
    // Beside a backlog like that it would wait for seconds.
    expect(performance.now() - began).toBeLessThan(1_500);
  });
});

describe('a partition with a backlog', () => {
  // Nothing here takes time, however busy the machine is.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  function answering(scheduler: Scheduler) {
    const permits = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    permits.noteLag('late', 10_000);
    return permits;
  }
  const mostEvents = async (permits: Permits, partition: string) => {
    const permit = await permits.next(partition, never);
    permit.end();
    return permit.events;
  };

  it('takes short slices while another one gets new events', async () => {
    const permits = answering(new Scheduler(100));
    permits.noteLag('fresh', 3);
    expect(await mostEvents(permits, 'fresh')).toBe(Infinity);
    expect(await mostEvents(permits, 'late')).toBe(100);
    expect(await mostEvents(permits, 'fresh')).toBe(Infinity);
  });

  it('takes whole slices where nobody else gets any, or all have a backlog', async () => {
    const permits = answering(new Scheduler(100));
    expect(await mostEvents(permits, 'late')).toBe(Infinity);
    permits.noteLag('later', 20_000);
    expect(await mostEvents(permits, 'later')).toBe(Infinity);
    expect(await mostEvents(permits, 'late')).toBe(Infinity);
  });

  it('takes whole slices while another one comes to the end of its own', async () => {
    const permits = answering(new Scheduler(100));
    permits.noteLag('ending', 150);
    await mostEvents(permits, 'ending');
    permits.noteLag('ending', 50);
    await mostEvents(permits, 'ending');
    expect(await mostEvents(permits, 'late')).toBe(Infinity);
    permits.noteLag('ending', 1);
    await mostEvents(permits, 'ending');
    expect(await mostEvents(permits, 'late')).toBe(100);
  });

  it('takes short slices beside another generation, too', async () => {
    const scheduler = new Scheduler(100);
    const other = scheduler.permits({ isBuilding: () => false, share: () => 100 });
    other.noteLag('fresh', 3);
    await mostEvents(other, 'fresh');
    expect(await mostEvents(answering(scheduler), 'late')).toBe(100);
  });
});

describe('a semaphore', () => {
  it('lets so many in, and then those who wait, in the order in which they came', async () => {
    const semaphore = new Semaphore(2);
    const [leaveFirst, leaveSecond] = [await semaphore.acquire(), await semaphore.acquire()];
    const entered: string[] = [];
    const third = semaphore.acquire().then((leave) => (entered.push('third'), leave));
    const fourth = semaphore.acquire().then((leave) => (entered.push('fourth'), leave));
    await Promise.resolve();
    expect(entered).toEqual([]);
    leaveSecond();
    const leaveThird = await third;
    expect(entered).toEqual(['third']);
    leaveFirst();
    const leaveFourth = await fourth;
    leaveThird();
    leaveFourth();
    await semaphore.acquire();
    await semaphore.acquire();
  });
});
