/**
 * Priority within a projector process. Generations that answer requests come before one that is
 * filled; partitions that have caught up come before lagging ones, whose slices are short
 * meanwhile. The filling of a generation writes one slice at a time, waits while others have a
 * backlog, and rests after each slice in proportion to its time. Once filled, it is treated like
 * the others until the flip.
 */
import { DEFAULT_SHARE, type KnownGeneration } from '#shared/read-models/generation.ts';
import { createSemaphore, systemClock } from '#shared/waiting.ts';

/** How long after its last slice a generation that answers counts as busy. */
const BUSY_MS = 1_000;
/**
 * The longest wait for others' backlog. Then one slice is written nevertheless, so that a rebuild
 * always ends.
 */
const MAX_WAIT_MS = 2_000;
const STEP_MS = 20;
/**
 * The most events of a slice while others wait for the processor: a large slice would cost them 0.2
 * s.
 */
const SHORT_SLICE_EVENTS = 100;
/**
 * How long after its last slice a partition without a backlog counts as one that gets new events.
 */
const FRESH_MS = 1_000;

export interface Permit {
  events: number;
  end: () => void;
}

/** The permits of one partition. */
export interface Permits {
  /** Resolves when a slice may be written, or with any permit once the signal is aborted. */
  next: (stopped: AbortSignal) => Promise<Permit>;
  /** Notes how many messages are not applied yet; `null` if others must not wait for them. */
  noteLag: (lag: number | null) => void;
}

/** The present state of a generation, which a flip changes. */
interface Scheduled {
  readonly state: KnownGeneration['state'];
  /** The percentage of time that its filling may take while others are busy. */
  readonly share: number | null;
}

interface Partition {
  generation: Scheduled;
  lag: number;
  /** Whether it had a backlog when its last slice began. */
  wasBehind: boolean;
}

export type Scheduler = ReturnType<typeof createScheduler>;

/** @param backlog more waiting messages than this are one. */
export function createScheduler(backlog: number, maxParallel: number, clock = systemClock) {
  const partitions = new Set<Partition>();
  let lastAnswering = -Infinity;
  let lastFresh = -Infinity;
  const takeTurn = createSemaphore(1);
  let restUntil = 0;

  const isBusy = (now: number) => now - lastAnswering < BUSY_MS;

  function hasBacklog(isCounted: (generation: Scheduled) => boolean): boolean {
    const counted = partitions.values().filter(({ generation }) => isCounted(generation));
    return counted.reduce((sum, { lag }) => sum + lag, 0) > backlog;
  }

  function nextAnswering(partition: Partition): Permit {
    const now = clock.now();
    lastAnswering = now;
    const isBehind = partition.lag > backlog;
    // The last slice of a backlog is not fresh.
    const isFresh = !isBehind && !partition.wasBehind;
    partition.wasBehind = isBehind;
    return {
      events: isBehind && now - lastFresh < FRESH_MS ? SHORT_SLICE_EVENTS : Infinity,
      end: () => {
        lastAnswering = clock.now();
        if (isFresh) lastFresh = lastAnswering;
      },
    };
  }

  /**
   * For work in the background, behind everything else.
   * @param filled the generation that rests after it, if any.
   */
  async function backgroundPermit(
    stopped: AbortSignal,
    filled: Scheduled | null = null,
  ): Promise<Permit> {
    const leave = await takeTurn();
    const latest = clock.now() + MAX_WAIT_MS;
    while (!stopped.aborted) {
      const now = clock.now();
      const rests = filled !== null && now < restUntil && isBusy(now);
      if (!rests && (now > latest || !hasBacklog(({ state }) => state !== 'building'))) break;
      await clock.sleep(STEP_MS, stopped);
    }
    const began = clock.now();
    return {
      events: isBusy(began) ? SHORT_SLICE_EVENTS : Infinity,
      end: () => {
        const now = clock.now();
        const share = filled?.share ?? DEFAULT_SHARE;
        if (filled !== null) restUntil = now + ((now - began) * (100 - share)) / share;
        leave();
      },
    };
  }

  return {
    backgroundPermit,

    /** @returns a function that makes the permits of one more partition of a generation. */
    permits(generation: Scheduled): () => Permits {
      const takePlace = createSemaphore(maxParallel);
      return () => {
        const partition: Partition = { generation, lag: 0, wasBehind: false };
        const next = (stopped: AbortSignal) => {
          if (generation.state !== 'building') return nextAnswering(partition);
          return hasBacklog((one) => one === generation)
            ? backgroundPermit(stopped, generation)
            : { events: Infinity, end: () => undefined };
        };
        return {
          next: async (stopped) => {
            const leave = await takePlace();
            const { events, end } = await next(stopped);
            return { events, end: () => (end(), leave()) };
          },
          noteLag: (lag) => {
            partition.lag = lag ?? 0;
            if (lag === null) partitions.delete(partition);
            else partitions.add(partition);
          },
        };
      };
    },
  };
}
