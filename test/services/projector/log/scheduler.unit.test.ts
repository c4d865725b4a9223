import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Permits, Scheduler } from '#projector/log/scheduler.ts';

const never = new AbortController().signal;
const SLICE_MS = 30;

const schedule = () => new Scheduler(100, 10);

/** Makes the permits of partitions of a generation that answers. */
const live = (scheduler: Scheduler) => scheduler.permits({ state: 'live', share: null });

/** The permits of a partition that is filled. */
function build(scheduler: Scheduler, share: number | null = null): Permits {
  const permits = scheduler.permits({ state: 'building', share })();
  permits.noteLag(10_000);
  return permits;
}

/** How long a slice waits for its permit. */
async function wait(permits: Permits): Promise<number> {
  const began = performance.now();
  const permit = await permits.next(never);
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
    const permits = build(schedule());
    expect(await untilRight(permits, isNoRest)).toBeLessThan(SLICE_MS);
  });

  it.each([
    [25, 3],
    [50, 1],
    [100, 0],
  ])('rests in proportion to its share while others are busy: %d %%', async (share, times) => {
    const scheduler = schedule();
    const answering = live(scheduler)();
    const permits = build(scheduler, share);
    const answer = async () => (await answering.next(never)).end();
    const least = SLICE_MS * times * 0.9;
    const isRight = (waited: number) => (times === 0 ? isNoRest(waited) : waited >= least);
    expect(isRight(await untilRight(permits, isRight, answer))).toBe(true);
  });

  it('takes its slices one at a time', async () => {
    const permits = build(schedule());
    const first = await permits.next(never);
    let isSecond = false;
    const second = permits.next(never).then((permit) => {
      isSecond = true;
      return permit;
    });
    await sleep(SLICE_MS);
    expect(isSecond).toBe(false);
    first.end();
    (await second).end();
  });

  it('waits while others have a backlog, though not for ever', async () => {
    const scheduler = schedule();
    const answering = live(scheduler)();
    const permits = build(scheduler);
    const other = live(scheduler)();
    answering.noteLag(60);
    other.noteLag(60);
    const freed = sleep(200).then(() => answering.noteLag(0));
    expect(await wait(permits)).toBeGreaterThanOrEqual(190);
    await freed;
    answering.noteLag(1_000_000);
    const waited = await wait(permits);
    expect(waited).toBeGreaterThan(1_500);
    expect(waited).toBeLessThan(30_000);
  });

  it('takes small slices while others are busy', async () => {
    const scheduler = schedule();
    const answering = live(scheduler)();
    const permits = build(scheduler, 100);
    const alone = await permits.next(never);
    alone.end();
    (await answering.next(never)).end();
    const beside = await permits.next(never);
    beside.end();
    expect([alone.events, beside.events]).toEqual([Infinity, 100]);
  });

  it('keeps up like the others once it is filled', async () => {
    const scheduler = schedule();
    const answering = live(scheduler)();
    const permits = build(scheduler, 1);
    answering.noteLag(1_000_000);
    permits.noteLag(100);
    const answer = async () => (await answering.next(never)).end();
    expect(await untilRight(permits, isNoRest, answer)).toBeLessThan(SLICE_MS);
  });

  it('gives up its permit when its consumer stops', async () => {
    const scheduler = schedule();
    live(scheduler)().noteLag(1_000_000);
    const permits = build(scheduler);
    const stopped = new AbortController();
    const permit = permits.next(stopped.signal);
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

  /** A partition of a generation that answers, and how far it is behind. */
  function partition(permits: () => Permits, lag: number): Permits {
    const own = permits();
    own.noteLag(lag);
    return own;
  }
  const mostEvents = async (permits: Permits) => {
    const permit = await permits.next(never);
    permit.end();
    return permit.events;
  };

  it('takes short slices while another one gets new events', async () => {
    const permits = live(schedule());
    const [late, fresh] = [partition(permits, 10_000), partition(permits, 3)];
    expect(await mostEvents(fresh)).toBe(Infinity);
    expect(await mostEvents(late)).toBe(100);
    expect(await mostEvents(fresh)).toBe(Infinity);
  });

  it('takes whole slices where nobody else gets any, or all have a backlog', async () => {
    const permits = live(schedule());
    const late = partition(permits, 10_000);
    expect(await mostEvents(late)).toBe(Infinity);
    expect(await mostEvents(partition(permits, 20_000))).toBe(Infinity);
    expect(await mostEvents(late)).toBe(Infinity);
  });

  it('takes whole slices while another one comes to the end of its own', async () => {
    const permits = live(schedule());
    const [late, ending] = [partition(permits, 10_000), partition(permits, 150)];
    await mostEvents(ending);
    ending.noteLag(50);
    await mostEvents(ending);
    expect(await mostEvents(late)).toBe(Infinity);
    ending.noteLag(1);
    await mostEvents(ending);
    expect(await mostEvents(late)).toBe(100);
  });

  it('takes short slices beside another generation, too', async () => {
    const scheduler = schedule();
    await mostEvents(partition(live(scheduler), 3));
    expect(await mostEvents(partition(live(scheduler), 10_000))).toBe(100);
  });

  it('waits while as many others of its generation are written as may be side by side', async () => {
    const permits = live(new Scheduler(100, 1));
    const first = await permits().next(never);
    let isSecond = false;
    const second = permits()
      .next(never)
      .then((permit) => {
        isSecond = true;
        return permit;
      });
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    expect(isSecond).toBe(false);
    first.end();
    (await second).end();
  });
});
