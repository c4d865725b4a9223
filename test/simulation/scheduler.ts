/**
 * Virtual time. Every wait, for a server or for a time, is an event of this scheduler. It runs one
 * event with all its immediate consequences before the next, so that the seed alone decides the
 * order.
 */
import { type Clock, pause } from '#shared/waiting.ts';
import type { Random } from '../../deploy/testing/random.ts';

/**
 * A process of the world: its events wait while it is frozen, and are dropped once it is killed.
 */
export interface Host {
  readonly name: string;
  state: 'running' | 'frozen' | 'killed';
}

interface Event {
  at: number;
  /** The order among events of the same time. */
  order: number;
  host: Host | null;
  run: () => void;
}

/** 2026-11-20, noon. */
const EPOCH_MS = 1_795_176_000_000;

export class Scheduler {
  now = 0;
  steps = 0;
  readonly #random: Random;
  readonly #events: Event[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Runs work later. Events of the same time run in random order. */
  after(milliseconds: number, host: Host | null, run: () => void): void {
    this.#add(milliseconds, host, run);
  }

  #add(milliseconds: number, host: Host | null, run: () => void): Event {
    const event = { at: this.now + milliseconds, order: this.#random.next(), host, run };
    this.#events.push(event);
    return event;
  }

  /** Runs the next event. @returns `false` if there is none before a time. */
  async step(until: number): Promise<boolean> {
    let next: Event | undefined;
    for (const event of this.#events) {
      if (event.host?.state === 'frozen') continue;
      if (
        next === undefined ||
        event.at < next.at ||
        (event.at === next.at && event.order < next.order)
      )
        next = event;
    }
    if (next === undefined || next.at > until) {
      this.now = Math.max(this.now, Math.min(until, Number.MAX_SAFE_INTEGER));
      return false;
    }
    this.#events.splice(this.#events.indexOf(next), 1);
    if (next.host?.state === 'killed') return true;
    this.now = Math.max(this.now, next.at);
    this.steps += 1;
    next.run();
    await settled();
    return true;
  }

  /** Runs all events at once, also those to come. @returns ends it. */
  runAlong(): () => Promise<void> {
    const over = new AbortController();
    const running = (async () => {
      while (!over.signal.aborted) if (!(await this.step(Infinity))) await pause(1, over.signal);
    })();
    return () => {
      over.abort();
      return running;
    };
  }

  clockOf(host: Host): Clock {
    return {
      now: () => this.now,
      wall: () => EPOCH_MS + this.now,
      sleep: (milliseconds, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          const end = this.#add(milliseconds, host, resolve);
          signal?.addEventListener('abort', () => (end.at = Math.min(end.at, this.now)), {
            once: true,
          });
        }),
    };
  }
}

/** Resolves when all pending continuations have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
