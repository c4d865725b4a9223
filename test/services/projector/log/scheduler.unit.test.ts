import { beforeEach, describe, expect, it } from 'vitest';
import { createScheduler, type Permits, type Scheduler } from '#projector/log/scheduler.ts';

const never = new AbortController().signal;
const SLICE_MS = 30;

/** Time passes during sleeps, and when a test advances it. */
let now = 0;
let scheduler: Scheduler;
let onSleep: () => void;
const clock = {
  now: () => now,
  wall: () => now,
  sleep: async (milliseconds: number) => {
    now += milliseconds;
    onSleep();
  },
};
beforeEach(() => {
  now = 0;
  onSleep = () => undefined;
  scheduler = createScheduler(100, 10, clock);
});

/** A partition of a live generation with a lag. */
function live(lag = 0, permits = scheduler.permits({ state: 'live', share: null })): Permits {
  const own = permits();
  own.noteLag(lag);
  return own;
}

/** A partition of a building generation. */
function build(share: number | null = null, lag = 10_000): Permits {
  return live(lag, scheduler.permits({ state: 'building', share }));
}

/** Writes a slice. @returns how long it waited for its permit, and the permitted events. */
async function write(permits: Permits): Promise<{ waited: number; events: number }> {
  const began = now;
  const { events, end } = await permits.next(never);
  const waited = now - began;
  now += SLICE_MS;
  end();
  return { waited, events };
}

const waits = async (permits: Permits) => (await write(permits)).waited;
const mostEvents = async (permits: Permits) => (await write(permits)).events;

/** Asserts that a second slice begins only after the first has ended. */
async function expectOneAtATime(one: Permits, other: Permits): Promise<void> {
  const first = await one.next(never);
  let hasBegun = false;
  const second = other.next(never).then((permit) => {
    hasBegun = true;
    return permit;
  });
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  expect(hasBegun).toBe(false);
  first.end();
  (await second).end();
}

describe('a building generation', () => {
  it('does not pause while others are idle', async () => {
    const permits = build();
    await write(permits);
    expect(await waits(permits)).toBe(0);
  });

  it.each([
    [25, 3],
    [50, 1],
    [100, 0],
  ])('pauses in proportion to its share while others are busy: %d %%', async (share, times) => {
    const permits = build(share);
    await mostEvents(live());
    await write(permits);
    const waited = await waits(permits);
    expect(waited).toBeGreaterThanOrEqual(SLICE_MS * times);
    // It checks every 20 ms.
    expect(waited).toBeLessThan(SLICE_MS * times + 20);
  });

  it('writes its slices one at a time', async () => {
    const permits = build();
    await expectOneAtATime(permits, permits);
  });

  it('waits while others have a backlog, but not forever', async () => {
    const [one, other] = [live(60), live(60)];
    onSleep = () => now >= 200 && one.noteLag(0);
    expect(await waits(build())).toBe(200);
    onSleep = () => undefined;
    other.noteLag(1_000_000);
    const waited = await waits(build());
    expect(waited).toBeGreaterThan(1_500);
    expect(waited).toBeLessThan(30_000);
  });

  it('writes small slices while others are busy', async () => {
    const permits = build(100);
    expect(await mostEvents(permits)).toBe(Infinity);
    await mostEvents(live());
    expect(await mostEvents(permits)).toBe(100);
  });

  it('does not wait once it has caught up', async () => {
    live(1_000_000);
    expect(await waits(build(1, 100))).toBe(0);
  });

  it('gives up its permit when its consumer stops', async () => {
    live(1_000_000);
    const stopped = new AbortController();
    const permit = build().next(stopped.signal);
    stopped.abort();
    (await permit).end();
    expect(now).toBeLessThan(100);
  });
});

describe('a partition with a backlog', () => {
  it('writes short slices while a caught-up partition gets new events', async () => {
    const permits = scheduler.permits({ state: 'live', share: null });
    const [late, fresh] = [live(10_000, permits), live(3, permits)];
    expect(await mostEvents(fresh)).toBe(Infinity);
    expect(await mostEvents(late)).toBe(100);
    expect(await mostEvents(fresh)).toBe(Infinity);
  });

  it('writes full slices if no other gets events, or all have a backlog', async () => {
    const late = live(10_000);
    expect(await mostEvents(late)).toBe(Infinity);
    expect(await mostEvents(live(20_000))).toBe(Infinity);
    expect(await mostEvents(late)).toBe(Infinity);
  });

  it('writes full slices while another one finishes its backlog', async () => {
    const [late, ending] = [live(10_000), live(150)];
    await mostEvents(ending);
    ending.noteLag(50);
    await mostEvents(ending);
    expect(await mostEvents(late)).toBe(Infinity);
    ending.noteLag(1);
    await mostEvents(ending);
    expect(await mostEvents(late)).toBe(100);
  });

  it('waits while the maximum number of others of its generation write', async () => {
    const permits = createScheduler(100, 1, clock).permits({ state: 'live', share: null });
    await expectOneAtATime(permits(), permits());
  });
});
