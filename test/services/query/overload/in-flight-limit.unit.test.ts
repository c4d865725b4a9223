import { describe, expect, it } from 'vitest';
import { InFlightLimit, LEAST } from '#query/overload/in-flight-limit.ts';

const LATENCY_MS = 100;
const STEP_MS = 1;
const LOOK_MS = 50;

/** A service: how many answers a second it can give, and what one takes where nothing is short. */
interface Service {
  perSecond: number;
  leastMs: number;
}

interface Result {
  perSecond: number;
  slowestMs: number;
  refused: number;
}

/** Plays a service with one queue behind the limit, in steps of a millisecond. */
class Play {
  readonly limit = new InFlightLimit(LATENCY_MS);
  /** When each request in flight was let in. */
  readonly #inFlight: number[] = [];
  #now = 0;
  #room = 0;
  #asked = 0;
  #seen = { answers: 0, sumMs: 0, peak: 0 };

  ask({ perSecond, leastMs }: Service, askedPerSecond: number, seconds: number): Result {
    const result = { answers: 0, slowestMs: 0, refused: 0 };
    const until = this.#now + seconds * 1_000;
    while (this.#now < until) {
      this.#now += STEP_MS;
      if (this.#now % LOOK_MS === 0) this.#look();
      this.#asked += (askedPerSecond * STEP_MS) / 1_000;
      for (; this.#asked >= 1; this.#asked -= 1) {
        if (this.#inFlight.length < this.limit.value) this.#inFlight.push(this.#now);
        else result.refused += 1;
      }
      this.#seen.peak = Math.max(this.#seen.peak, this.#inFlight.length);
      const perStep = (perSecond * STEP_MS) / 1_000;
      this.#room = Math.min(this.#room + perStep, perStep + 1);
      for (let since = this.#inFlight[0]; since !== undefined; since = this.#inFlight[0]) {
        const took = this.#now - since;
        if (this.#room < 1 || took < leastMs) break;
        this.#room -= 1;
        this.#inFlight.shift();
        this.#seen.answers += 1;
        this.#seen.sumMs += took;
        result.answers += 1;
        result.slowestMs = Math.max(result.slowestMs, took);
      }
    }
    return { ...result, perSecond: result.answers / seconds };
  }

  #look(): void {
    const { answers, sumMs, peak } = this.#seen;
    const inFlight = this.#inFlight.length;
    this.limit.adapt({ elapsedMs: LOOK_MS, inFlight, peak, answers, answerMs: sumMs / answers });
    this.#seen = { answers: 0, sumMs: 0, peak: inFlight };
  }
}

describe('the limit of what is in flight', () => {
  it.each<[string, Service]>([
    ['a quick service', { perSecond: 8_000, leastMs: 4 }],
    ['one that reads much', { perSecond: 1_300, leastMs: 10 }],
    ['one whose answers are work', { perSecond: 150, leastMs: 20 }],
    ['one that is far from its servers', { perSecond: 4_000, leastMs: 60 }],
  ])('lets %s answer all it can, soon, at three times that, from the first moment', (_what, service) => {
    const play = new Play();
    expect(play.ask(service, service.perSecond / 2, 5).refused).toBe(0);
    const { perSecond, slowestMs } = play.ask(service, service.perSecond * 3, 10);
    expect(perSecond).toBeGreaterThan(service.perSecond * 0.9);
    expect(slowestMs).toBeLessThan(500);
  });

  it('refuses nothing once the load is over, and is what it was within three seconds', () => {
    const play = new Play();
    const service = { perSecond: 1_300, leastMs: 10 };
    const before = play.limit.value;
    play.ask(service, service.perSecond * 3, 10);
    expect(play.limit.value).toBeLessThan(before / 2);
    // What was let in before is answered first.
    play.ask(service, service.perSecond / 2, 1);
    expect(play.ask(service, service.perSecond / 2, 2).refused).toBe(0);
    expect(play.limit.value).toBe(before);
  });

  it('follows a service that becomes slower, and one that becomes quicker', () => {
    const play = new Play();
    play.ask({ perSecond: 5_000, leastMs: 5 }, 15_000, 5);
    const slower = { perSecond: 500, leastMs: 20 };
    play.ask(slower, 15_000, 3);
    expect(play.ask(slower, 15_000, 5).slowestMs).toBeLessThan(500);
    const quicker = { perSecond: 8_000, leastMs: 5 };
    play.ask(quicker, 24_000, 2);
    expect(play.ask(quicker, 24_000, 5).perSecond).toBeGreaterThan(7_200);
  });

  it('takes answers that are slow although few are in flight for no load', () => {
    const play = new Play();
    const service = { perSecond: 10_000, leastMs: 150 };
    for (const askedPerSecond of [200, 400, 800, 1_600]) {
      expect(play.ask(service, askedPerSecond, 3).refused).toBe(0);
    }
  });

  it('never refuses a few', () => {
    const limit = new InFlightLimit(LATENCY_MS);
    for (let look = 0; look < 100; look += 1) {
      limit.adapt({ elapsedMs: LOOK_MS, inFlight: 10_000, peak: 10_000, answers: 1, answerMs: 5_000 });
    }
    expect(limit.value).toBe(LEAST);
  });

  it('is judged by answers alone: nothing is known where nothing is answered', () => {
    const limit = new InFlightLimit(LATENCY_MS);
    const before = limit.value;
    limit.adapt({ elapsedMs: LOOK_MS, inFlight: 500, peak: 500, answers: 0, answerMs: Number.NaN });
    expect(limit.value).toBe(before);
  });
});
