/**
 * Who goes first in a projector process: generations that answer requests, and among their partitions those without a backlog, for
 * which the others' slices are short. What fills a new one takes its slices one
 * at a time, waits while others have a backlog, and rests after each in proportion to the time that it took. Once it
 * is filled it keeps up like the others, so that a flip to it makes nobody see less.
 */
import { type Clock, systemClock } from '#shared/waiting.ts';

/** For how long after its last slice a generation that answers counts as busy. */
const BUSY_MS = 1_000;
/** The longest wait for others' backlog before one slice goes ahead nevertheless, so that a rebuild always ends. */
const MAX_WAIT_MS = 2_000;
const STEP_MS = 20;
/** So many events are read, folded and written before others get the processor again; large slices cost them 0.2 s. */
const BESIDE_OTHERS_EVENTS = 100;
/** For how long after its last slice a partition without a backlog counts as one that gets new events. */
const FRESH_MS = 1_000;

export interface Permit {
  events: number;
  end: () => void;
}

export interface Permits {
  /** Resolves when a slice of a partition may be applied, or with any permit once the signal is aborted. */
  next: (partition: string, stopped: AbortSignal) => Promise<Permit>;
  /** Told how many messages of a partition are not applied yet; `null` once it is no longer ours. */
  noteLag: (partition: string, lag: number | null) => void;
}

/** What counts of a generation, as it is at the moment: a flip changes it. */
interface Scheduled {
  isBuilding: () => boolean;
  /** The percentage of time that filling it may take while others are busy. */
  share: () => number;
}

export class Scheduler {
  /** Of partitions of generations that answer. */
  readonly #lags = new Map<string, number>();
  readonly #backlog: number;
  readonly #clock: Clock;
  #lastAnswering = -Infinity;
  #lastFresh = -Infinity;
  /** Partitions that had a backlog when their last slice began. */
  readonly #behind = new Set<string>();
  #filling: Promise<void> = Promise.resolve();
  #restUntil = 0;

  /** @param backlog how many waiting messages are more than the work of the moment. */
  constructor(backlog: number, clock = systemClock) {
    this.#backlog = backlog;
    this.#clock = clock;
  }

  permits({ isBuilding, share }: Scheduled): Permits {
    const own = new Map<string, number>();
    return {
      next: async (partition, stopped) => {
        if (isBuilding()) {
          return sumOf(own) > this.#backlog
            ? this.#nextFilling(stopped, share)
            : { events: Infinity, end: () => undefined };
        }
        const now = this.#clock.now();
        this.#lastAnswering = now;
        const isBehind = (this.#lags.get(partition) ?? 0) > this.#backlog;
        // The last slice of a backlog is nothing that came just now.
        const isFresh = !isBehind && !this.#behind.has(partition);
        if (isBehind) this.#behind.add(partition);
        else this.#behind.delete(partition);
        return {
          events: isBehind && now - this.#lastFresh < FRESH_MS ? BESIDE_OTHERS_EVENTS : Infinity,
          end: () => {
            this.#lastAnswering = this.#clock.now();
            if (isFresh) this.#lastFresh = this.#lastAnswering;
          },
        };
      },
      noteLag: (partition, lag) => {
        if (lag === null) own.delete(partition);
        else own.set(partition, lag);
        if (lag === null || isBuilding()) this.#lags.delete(partition);
        else this.#lags.set(partition, lag);
        if (lag === null) this.#behind.delete(partition);
      },
    };
  }

  /**
   * A turn for work that nobody waits for: it goes behind everything, as the filling of a generation does. Whoever does it
   * rests by themselves: their rest is none of a generation that is filled.
   */
  backgroundPermit(stopped: AbortSignal): Promise<Permit> {
    return this.#nextFilling(stopped, null);
  }

  /** @param share `null` for work after which nobody rests. */
  async #nextFilling(stopped: AbortSignal, share: (() => number) | null): Promise<Permit> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#filling;
    this.#filling = before.then(() => promise);
    await before;
    const goesAhead = this.#clock.now() + MAX_WAIT_MS;
    while (!stopped.aborted) {
      const now = this.#clock.now();
      const rests = share !== null && now < this.#restUntil && this.#isBusy(now);
      if (!rests && (now > goesAhead || !this.#hasBacklog())) break;
      await this.#clock.sleep(STEP_MS, stopped);
    }
    const began = this.#clock.now();
    return {
      events: this.#isBusy(began) ? BESIDE_OTHERS_EVENTS : Infinity,
      end: () => {
        const now = this.#clock.now();
        if (share !== null) this.#restUntil = now + ((now - began) * (100 - share())) / share();
        resolve();
      },
    };
  }

  #isBusy(now: number): boolean {
    return now - this.#lastAnswering < BUSY_MS;
  }

  #hasBacklog(): boolean {
    return sumOf(this.#lags) > this.#backlog;
  }
}

function sumOf(lags: ReadonlyMap<string, number>): number {
  return lags.values().reduce((sum, lag) => sum + lag, 0);
}

/** A semaphore: so many may work side by side, and the others wait in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async acquire(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }
}
