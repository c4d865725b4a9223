import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace, type Turns } from '#projector/generations/pace.ts';

const never = () => false;
const SLICE_MS = 30;

function build(pace: Pace, share = 25): Turns {
  const turns = pace.turns({ isBuilding: () => true, share: () => share });
  turns.noteLag('p0', 10_000);
  return turns;
}

/** How long a slice waits for its turn. */
async function wait(turns: Turns): Promise<number> {
  const began = performance.now();
  const turn = await turns.next('p0', never);
  const waited = performance.now() - began;
  await sleep(SLICE_MS);
  turn.end();
  return waited;
}

/**
 * How long a slice behind another one waits, as often as it takes until that is so long as is right: on a busy machine this process may
 * stand still for a moment.
 */
async function untilRight(
  turns: Turns,
  isRight: (waited: number) => boolean,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  for (let time = 1; ; time += 1) {
    await before();
    await wait(turns);
    const waited = await wait(turns);
    if (isRight(waited) || time === 10) return waited;
  }
}
const isNoRest = (waited: number) => waited < SLICE_MS;

describe('a generation that is filled', () => {
  it('does not rest while nothing happens in others', async () => {
    const turns = build(new Pace(100));
    expect(await untilRight(turns, isNoRest)).toBeLessThan(SLICE_MS);
  });

  it.each([
    [25, 3],
    [50, 1],
    [100, 0],
  ])('rests in proportion to its share while others are busy: %d %%', async (share, times) => {
    const pace = new Pace(100);
    const live = pace.turns({ isBuilding: () => false, share: () => 100 });
    const turns = build(pace, share);
    const answer = async () => (await live.next('p0', never)).end();
    const least = SLICE_MS * times * 0.9;
    const isRight = (waited: number) => (times === 0 ? isNoRest(waited) : waited >= least);
    expect(isRight(await untilRight(turns, isRight, answer))).toBe(true);
  });

  it('takes its slices one at a time', async () => {
    const turns = build(new Pace(100));
    const first = await turns.next('p0', never);
    let isSecond = false;
    const second = turns.next('p0', never).then((turn) => {
      isSecond = true;
      return turn;
    });
    await sleep(SLICE_MS);
    expect(isSecond).toBe(false);
    first.end();
    (await second).end();
  });

  it('waits while others have a backlog, though not for ever', async () => {
    const pace = new Pace(100);
    const live = pace.turns({ isBuilding: () => false, share: () => 100 });
    const turns = build(pace);
    live.noteLag('p0', 60);
    live.noteLag('p1', 60);
    const freed = sleep(200).then(() => live.noteLag('p0', 0));
    expect(await wait(turns)).toBeGreaterThanOrEqual(190);
    await freed;
    live.noteLag('p0', 1_000_000);
    const waited = await wait(turns);
    expect(waited).toBeGreaterThan(1_500);
    expect(waited).toBeLessThan(30_000);
  });

  it('takes small slices while others are busy', async () => {
    const pace = new Pace(100);
    const live = pace.turns({ isBuilding: () => false, share: () => 100 });
    const turns = build(pace, 100);
    const alone = await turns.next('p0', never);
    alone.end();
    (await live.next('p0', never)).end();
    const beside = await turns.next('p0', never);
    beside.end();
    expect([alone.events, beside.events]).toEqual([Infinity, 100]);
  });

  it('keeps up like the others once it is filled', async () => {
    const pace = new Pace(100);
    const live = pace.turns({ isBuilding: () => false, share: () => 100 });
    const turns = build(pace, 1);
    live.noteLag('p0', 1_000_000);
    turns.noteLag('p0', 100);
    const answer = async () => (await live.next('p0', never)).end();
    expect(await untilRight(turns, isNoRest, answer)).toBeLessThan(SLICE_MS);
  });

  it('gives up its turn when its consumer stops', async () => {
    const pace = new Pace(100);
    pace.turns({ isBuilding: () => false, share: () => 100 }).noteLag('p0', 1_000_000);
    const turns = build(pace);
    let isStopped = false;
    const turn = turns.next('p0', () => isStopped);
    isStopped = true;
    const began = performance.now();
    (await turn).end();
    // Beside a backlog like that it would wait for seconds.
    expect(performance.now() - began).toBeLessThan(1_500);
  });
});

describe('a partition with a backlog', () => {
  // Nothing here takes time, however busy the machine is.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  function answering(pace: Pace) {
    const turns = pace.turns({ isBuilding: () => false, share: () => 100 });
    turns.noteLag('late', 10_000);
    return turns;
  }
  const mostEvents = async (turns: Turns, partition: string) => {
    const turn = await turns.next(partition, never);
    turn.end();
    return turn.events;
  };

  it('takes short slices while another one gets new events', async () => {
    const turns = answering(new Pace(100));
    turns.noteLag('fresh', 3);
    expect(await mostEvents(turns, 'fresh')).toBe(Infinity);
    expect(await mostEvents(turns, 'late')).toBe(100);
    expect(await mostEvents(turns, 'fresh')).toBe(Infinity);
  });

  it('takes whole slices where nobody else gets any, or all have a backlog', async () => {
    const turns = answering(new Pace(100));
    expect(await mostEvents(turns, 'late')).toBe(Infinity);
    turns.noteLag('later', 20_000);
    expect(await mostEvents(turns, 'later')).toBe(Infinity);
    expect(await mostEvents(turns, 'late')).toBe(Infinity);
  });

  it('takes whole slices while another one comes to the end of its own', async () => {
    const turns = answering(new Pace(100));
    turns.noteLag('ending', 150);
    await mostEvents(turns, 'ending');
    turns.noteLag('ending', 50);
    await mostEvents(turns, 'ending');
    expect(await mostEvents(turns, 'late')).toBe(Infinity);
    turns.noteLag('ending', 1);
    await mostEvents(turns, 'ending');
    expect(await mostEvents(turns, 'late')).toBe(100);
  });

  it('takes short slices beside another generation, too', async () => {
    const pace = new Pace(100);
    const other = pace.turns({ isBuilding: () => false, share: () => 100 });
    other.noteLag('fresh', 3);
    await mostEvents(other, 'fresh');
    expect(await mostEvents(answering(pace), 'late')).toBe(100);
  });
});
