/**
 * Reads the partitions of a topic for the loops that ask. Of each broker two requests may be under way: one for partitions that are behind,
 * which is answered at once, and one for those at their end, which waits for messages. Each names exactly the partitions that are wanted
 * now, from the offsets that their loops want. An error, a missing leader or a silent broker delays its own partitions alone.
 */
import { describeError, isUnavailable } from '../errors.ts';
import type { Clock } from '../waiting.ts';
import type { LogMessage } from './message.ts';

/** What is wanted of a partition. */
export interface Wanted {
  from: number;
  bytes: number;
  /** Whether the partition is at its end: then its broker may wait for messages. */
  atEnd: boolean;
}

/** What the log has from an offset on. */
export interface Answer {
  messages: readonly LogMessage[];
  /** The offset behind what was read: offsets before it without a message have none. */
  next: number;
  /** Where readers of committed messages end. */
  end: number;
  /** Whether the offset lies outside of the log. */
  isOutside: boolean;
}

export interface FetchRequest {
  atEnd: boolean;
  maxWaitMs: number;
  partitions: { partition: number; from: number; bytes: number }[];
}

/** What a broker answers about one partition. */
export interface FetchedPartition {
  partition: number;
  /** `moved`: another broker leads it, or none does; `outside`: the log does not have the offset. @throws what waiting does not mend */
  read: () => Promise<'moved' | Answer>;
}

export interface Fetched {
  /** How long the broker wants no further request of this kind. */
  throttleMs: number;
  partitions: FetchedPartition[];
}

/** The brokers of a topic. The simulation implements them too. */
export interface Brokers {
  /** The leader of a partition, as last heard; `null` where there is none. */
  leaderOf: (partition: number) => number | null;
  /** Asks who leads the partitions now. */
  refresh: () => Promise<void>;
  fetch: (broker: number, request: FetchRequest) => Promise<Fetched>;
}

/** How long a broker waits that has nothing for a partition that is behind. */
const BEHIND_WAIT_MS = 50;
/** The pause before leaders are asked for. */
const RETRY_MS = 250;

interface Want extends Wanted {
  partition: number;
  /** Whether leaders are asked for first. */
  isHeld: boolean;
  settle: (answer: Answer | null) => void;
  fail: (error: unknown) => void;
}

export interface FetcherOptions {
  brokers: Brokers;
  clock: Clock;
  /** How long a broker may wait for messages of partitions at their end. */
  maxWaitMs: () => number;
  /** Called after each answer of a broker. */
  answered: () => void;
  /** Called with why partitions wait, each time that this is tried to mend. */
  waits: (partitions: number[], why: string) => void;
}

export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #wants = new Set<Want>();
  /** The requests under way, by broker and whether they wait. */
  readonly #lanes = new Set<string>();
  #isRecovering = false;

  constructor(options: FetcherOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the log has something from the offset on; with `null` once the signal is aborted.
   * @throws what no waiting helps against, as a missing right.
   */
  async read(partition: number, wanted: Wanted, signal: AbortSignal): Promise<Answer | null> {
    if (signal.aborted) return null;
    const { promise, resolve: settle, reject: fail } = Promise.withResolvers<Answer | null>();
    const want = { ...wanted, partition, isHeld: false, settle, fail };
    const cancel = () => settle(null);
    signal.addEventListener('abort', cancel, { once: true });
    this.#wants.add(want);
    this.#wake();
    try {
      return await promise;
    } finally {
      this.#wants.delete(want);
      signal.removeEventListener('abort', cancel);
    }
  }

  #wake(): void {
    for (const want of this.#wants) {
      const broker = this.#options.brokers.leaderOf(want.partition);
      if (broker === null) this.#hold([want], 'no leader');
      else if (!want.isHeld) void this.#serve(broker, want.atEnd);
    }
  }

  async #serve(broker: number, atEnd: boolean): Promise<void> {
    const lane = `${broker}/${atEnd}`;
    if (this.#lanes.has(lane)) return;
    this.#lanes.add(lane);
    for (;;) {
      // All that is wanted in this turn of the event loop.
      await this.#options.clock.sleep(0);
      const wants = [...this.#wants].filter(
        (want) => want.atEnd === atEnd && !want.isHeld && this.#options.brokers.leaderOf(want.partition) === broker,
      );
      if (wants.length === 0) break;
      await this.#fetch(broker, atEnd, wants);
    }
    this.#lanes.delete(lane);
  }

  async #fetch(broker: number, atEnd: boolean, wants: readonly Want[]): Promise<void> {
    const { brokers, clock, maxWaitMs: idleWaitMs, answered } = this.#options;
    const maxWaitMs = atEnd ? idleWaitMs() : BEHIND_WAIT_MS;
    const partitions = wants.map(({ partition, from, bytes }) => ({ partition, from, bytes }));
    try {
      const fetched = await brokers.fetch(broker, { atEnd, maxWaitMs, partitions });
      answered();
      for (const one of fetched.partitions) {
        const want = wants.find(({ partition }) => partition === one.partition);
        // A loop may want something else by now.
        if (want !== undefined && this.#wants.has(want)) await this.#settle(want, one);
      }
      if (fetched.throttleMs > 0) await clock.sleep(fetched.throttleMs);
    } catch (error) {
      if (isUnavailable(error)) this.#hold(wants, describeError(error));
      else for (const want of wants) want.fail(error);
    }
  }

  async #settle(want: Want, one: FetchedPartition): Promise<void> {
    try {
      const answer = await one.read();
      if (answer === 'moved') this.#hold([want], 'its leader has changed');
      else if (answer.isOutside || answer.next > want.from) want.settle(answer);
    } catch (error) {
      want.fail(error);
    }
  }

  /** They are fetched again once the leaders are known again. */
  #hold(wants: readonly Want[], why: string): void {
    for (const want of wants) want.isHeld = true;
    const held = wants.filter((want) => this.#wants.has(want));
    if (held.length === 0) return;
    this.#options.waits(
      held.map(({ partition }) => partition),
      why,
    );
    void this.#recover();
  }

  async #recover(): Promise<void> {
    if (this.#isRecovering) return;
    this.#isRecovering = true;
    const { brokers, clock } = this.#options;
    await clock.sleep(RETRY_MS);
    await brokers.refresh().catch(() => undefined);
    this.#isRecovering = false;
    for (const want of this.#wants) want.isHeld = false;
    this.#wake();
  }
}
