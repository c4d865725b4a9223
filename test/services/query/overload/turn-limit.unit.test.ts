import { describe, expect, it } from 'vitest';
import { FEWEST, MOST, TurnLimit } from '#query/overload/turn-limit.ts';

/** Turns one after the other, each as long as what is begun in it takes, and what is done besides. @returns how long each took. */
function play(limit: TurnLimit, turns: number, eachMs: number, besidesMs: number): number[] {
  return Array.from({ length: turns }, () => {
    const turnMs = limit.value * eachMs + besidesMs;
    limit.adapt(turnMs);
    return turnMs;
  });
}

describe('how many requests are begun in a turn of the event loop', () => {
  it.each([
    [0.3, 1],
    [0.5, 1],
    [0.3, 4],
  ])('is as many as fit into it, %d ms each and %d ms besides', (eachMs, besidesMs) => {
    const limit = new TurnLimit();
    play(limit, 10, eachMs, besidesMs);
    const turns = play(limit, 100, eachMs, besidesMs);
    expect(Math.max(...turns)).toBeLessThan(9);
    expect(Math.min(...turns)).toBeGreaterThan(4);
  });

  it('is never more than share their reads, however quick they are', () => {
    const limit = new TurnLimit();
    play(limit, 100, 0.01, 0);
    expect(limit.value).toBe(MOST);
  });

  it('is never none, however long a turn takes for what is done besides', () => {
    const limit = new TurnLimit();
    play(limit, 100, 1, 100);
    expect(limit.value).toBe(FEWEST);
  });

  it('is soon as before where one turn took long', () => {
    const limit = new TurnLimit();
    play(limit, 100, 0.5, 1);
    const before = limit.value;
    limit.adapt(200);
    expect(limit.value).toBeLessThan(before);
    play(limit, 5, 0.5, 1);
    expect(limit.value).toBeGreaterThanOrEqual(before - 1);
  });
});
