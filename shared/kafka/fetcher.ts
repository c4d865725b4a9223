/**
 * Reads the partitions of a topic for the loops that ask. Each request names exactly the partitions
 * that are wanted now, from the offsets that their loops want. An error, a missing leader or a
 * silent broker delays its own partitions alone.
 */
import { describeError, isRefusal, isUnavailable } from '../errors.ts';
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
  /** The number of the connection. */
  lane: number;
  maxWaitMs: number;
  partitions: readonly { partition: number; from: number; bytes: number }[];
}

/** What a broker answers about one partition. */
interface FetchedPartition {
  partition: number;
  /** `moved`: another broker leads it, or none does. @throws what waiting does not mend. */
  read: () => Promise<'moved' | Answer>;
}

export interface Fetched {
  /** How long the broker wants no further request of this kind. */
  throttleMs: number;
  partitions: FetchedPartition[];
}

/** The brokers of a topic. The simulation implements them too. */
export interface Brokers {
  /** The leader of a partition, as last heard; `null` if there is none. */
  leaderOf: (partition: number) => number | null;
  /** Asks who leads the partitions now. */
  refresh: () => Promise<void>;
  fetch: (broker: number, request: FetchRequest) => Promise<Fetched>;
}

/**
 * The requests to one broker that may be under way together, each on its own connection, since a
 * broker answers in order; and how long it waits if it has nothing. The second is for partitions
 * that ask while the first brings another's backlog; the last for those that reach their end while
 * the one before waits, which takes them when it is answered.
 */
const LANES = [
  { atEnd: false, maxWaitMs: 50 },
  { atEnd: false, maxWaitMs: 50 },
  { atEnd: true, maxWaitMs: 1_000 },
  { atEnd: true, maxWaitMs: 100 },
];
/** A shorter wait is not worth a request. */
const MIN_WAIT_MS = 20;
/** The pause before leaders are asked for. */
const RETRY_MS = 250;

interface Want extends Wanted {
  partition: number;
  /** Whether a request under way names it, or leaders are asked for first. */
  isAsked: boolean;
  settle: (answer: Answer | null) => void;
  fail: (error: unknown) => void;
}

interface FetcherOptions {
  brokers: Brokers;
  clock: Clock;
  /** Called after each answer of a broker. */
  answered?: () => void;
  /** Called with why a partition waits, each time that this is tried to mend. */
  waits?: (partition: number, why: string) => void;
}

export type Fetcher = ReturnType<typeof createFetcher>;

export function createFetcher({ brokers, clock, answered, waits }: FetcherOptions) {
  const wants = new Set<Want>();
  /** Those in use, as `<broker>/<number>`, and when each is answered if nothing comes. */
  const lanes = new Map<string, number>();
  /** What waits until leaders are known again. */
  const held: Want[] = [];
  /** Whether anything was read yet: at the start a missing right is a mistake. */
  let hasRead = false;

  /**
   * Resolves when the log has something from the offset on; with `null` once the signal is aborted.
   * @throws what no waiting helps against, as a missing right.
   */
  async function read(
    partition: number,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<Answer | null> {
    if (signal.aborted) return null;
    const { promise, resolve: settle, reject: fail } = Promise.withResolvers<Answer | null>();
    const want = { ...wanted, partition, isAsked: false, settle, fail };
    const cancel = () => settle(null);
    signal.addEventListener('abort', cancel, { once: true });
    wants.add(want);
    wake();
    try {
      return await promise;
    } finally {
      wants.delete(want);
      signal.removeEventListener('abort', cancel);
    }
  }

  function wake(): void {
    for (const want of wants) {
      if (want.isAsked) continue;
      const broker = brokers.leaderOf(want.partition);
      if (broker === null) {
        hold(want, 'no leader');
        continue;
      }
      const lane = LANES.findIndex(
        ({ atEnd }, number) =>
          atEnd === want.atEnd &&
          !lanes.has(`${broker}/${number}`) &&
          waitMs(broker, number) >= MIN_WAIT_MS,
      );
      // Otherwise a lane in use takes what is wanted when it is answered.
      if (lane !== -1) void serve(broker, lane);
    }
  }

  function waitMs(broker: number, lane: number): number {
    const { maxWaitMs = 0 } = LANES[lane] ?? {};
    const before = lanes.get(`${broker}/${lane - 1}`) ?? 0;
    return lane < 3 ? maxWaitMs : Math.min(maxWaitMs, before - clock.now());
  }

  async function serve(broker: number, lane: number): Promise<void> {
    const name = `${broker}/${lane}`;
    lanes.set(name, Infinity);
    for (;;) {
      // All that is wanted in this turn of the event loop.
      await clock.sleep(0);
      const asked = [...wants].filter(
        ({ atEnd, isAsked, partition }) =>
          atEnd === LANES[lane]?.atEnd && !isAsked && brokers.leaderOf(partition) === broker,
      );
      const maxWaitMs = waitMs(broker, lane);
      if (asked.length === 0 || maxWaitMs < MIN_WAIT_MS) break;
      for (const want of asked) want.isAsked = true;
      lanes.set(name, clock.now() + maxWaitMs);
      await fetch(broker, { lane, maxWaitMs: Math.floor(maxWaitMs) }, asked);
    }
    lanes.delete(name);
    // What was to be asked for again may have another leader by now.
    wake();
  }

  async function fetch(
    broker: number,
    to: Omit<FetchRequest, 'partitions'>,
    asked: readonly Want[],
  ): Promise<void> {
    const open = new Set(asked);
    try {
      const fetched = await brokers.fetch(broker, { ...to, partitions: asked });
      answered?.();
      for (const one of fetched.partitions) {
        const want = asked.find(({ partition }) => partition === one.partition);
        // A loop may want something else by now.
        if (want === undefined || !wants.has(want)) continue;
        if (await settle(want, one)) open.delete(want);
      }
      if (fetched.throttleMs > 0) await clock.sleep(fetched.throttleMs);
      for (const want of open) want.isAsked = false;
    } catch (error) {
      for (const want of open) failed(want, error);
    }
  }

  /**
   * A right that is withdrawn while the log is read may be given back: its partition waits, as in
   * an outage.
   */
  function failed(want: Want, error: unknown): void {
    if (isUnavailable(error) || (hasRead && isRefusal(error))) hold(want, describeError(error));
    else want.fail(error);
  }

  /** @returns whether it need not be asked for again with the others of its request. */
  async function settle(want: Want, one: FetchedPartition): Promise<boolean> {
    try {
      const answer = await one.read();
      if (answer === 'moved') hold(want, 'its leader has changed');
      else if (answer.isOutside || answer.next > want.from) want.settle(answer);
      else return false;
      hasRead = true;
    } catch (error) {
      failed(want, error);
    }
    return true;
  }

  /** It is fetched again once the leaders are known again. */
  function hold(want: Want, why: string): void {
    if (!wants.has(want)) return;
    want.isAsked = true;
    waits?.(want.partition, why);
    if (held.push(want) === 1) void recover();
  }

  async function recover(): Promise<void> {
    await clock.sleep(RETRY_MS);
    await brokers.refresh().catch(() => undefined);
    for (const want of held.splice(0)) want.isAsked = false;
    wake();
  }

  return { read };
}
