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
  #seen = { asked: 0, answers: 0, sumMs: 0, peak: 0 };

  /** So many a second, whatever becomes of those before. */
  ask(service: Service, askedPerSecond: number, seconds: number): Result {
    let due = 0;
    return this.#play(service, seconds, () => {
      due += (askedPerSecond * STEP_MS) / 1_000;
      const now = Math.floor(due);
      due -= now;
      return now;
    });
  }

  /** Clients of which each asks again as soon as it was answered. */
  askInTurn(service: Service, clients: number, seconds: number): Result {
    return this.#play(service, seconds, () => clients - this.#inFlight.length);
  }

  /** All at once. */
  askAtOnce(service: Service, requests: number, seconds: number): Result {
    let left = requests;
    return this.#play(service, seconds, () => {
      const now = left;
      left = 0;
      return now;
    });
  }

  #play({ perSecond, leastMs }: Service, seconds: number, asks: () => number): Result {
    const result = { answers: 0, slowestMs: 0, refused: 0 };
    const until = this.#now + seconds * 1_000;
    while (this.#now < until) {
      this.#now += STEP_MS;
      if (this.#now % LOOK_MS === 0) this.#look();
      for (let asked = asks(); asked > 0; asked -= 1) {
        this.#seen.asked += 1;
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
    const { asked, answers, sumMs, peak } = this.#seen;
    const inFlight = this.#inFlight.length;
    const seen = { elapsedMs: LOOK_MS, inFlight, peak, asked, answers, answerMs: sumMs / answers };
    this.limit.adapt(seen);
    this.#seen = { asked: 0, answers: 0, sumMs: 0, peak: this.#inFlight.length };
  }
}

describe('the limit of what is in flight', () => {
  it.each<[string, Service]>([
    ['a quick service', { perSecond: 8_000, leastMs: 4 }],
    ['one that reads much', { perSecond: 1_300, leastMs: 10 }],
    ['one that reads very much', { perSecond: 400, leastMs: 20 }],
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

  it.each([64, 100, 128, 256, 500])(
    'lets %i clients be answered that ask again once they were',
    (clients) => {
      const service = { perSecond: 2_000, leastMs: 10 };
      const { perSecond, refused } = new Play().askInTurn(service, clients, 5);
      expect(refused).toBe(0);
      expect(perSecond).toBeGreaterThan(1_900);
    },
  );

  it('lets a burst be answered that comes after quiet', () => {
    const play = new Play();
    const service = { perSecond: 1_300, leastMs: 10 };
    expect(play.ask(service, 100, 3).refused).toBe(0);
    for (let burst = 0; burst < 5; burst += 1) expect(play.askAtOnce(service, 500, 2).refused).toBe(0);
  });

  it('lets nobody wait long where only a little more is asked than can be answered', () => {
    const service = { perSecond: 1_300, leastMs: 10 };
    const { perSecond, slowestMs } = new Play().ask(service, service.perSecond * 1.1, 20);
    expect(slowestMs).toBeLessThan(500);
    expect(perSecond).toBeGreaterThan(service.perSecond * 0.95);
  });

  it('never refuses a few', () => {
    const limit = new InFlightLimit(LATENCY_MS);
    for (let look = 0; look < 100; look += 1) {
      limit.adapt({
        elapsedMs: LOOK_MS,
        inFlight: 10_000,
        peak: 10_000,
        asked: 10_000,
        answers: 1,
        answerMs: 5_000,
      });
    }
    expect(limit.value).toBe(LEAST);
  });

  it('is judged by answers alone: nothing is known where nothing is answered', () => {
    const limit = new InFlightLimit(LATENCY_MS);
    const before = limit.value;
    limit.adapt({
      elapsedMs: LOOK_MS,
      inFlight: 500,
      peak: 500,
      asked: 500,
      answers: 0,
      answerMs: Number.NaN,
    });
    expect(limit.value).toBe(before);
  });
});
