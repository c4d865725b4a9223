/**
 * Watches one generation for all requests that wait for changes: one poll of the stamps serves them
 * all. A poll finds stamps by the slices that wrote them, so its cost grows with the changes, not
 * with the waiters. Changes that no slice wrote (a retried dead letter, an erasure in pieces, a
 * restored database) are found by reading the stamp of each waited store once a second.
 */
import type { Document, Filter } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import type { Logger } from '#shared/logging.ts';
import { CHECKPOINTS, oneOf, type Stamp, stampsIn } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import type { WithDeadline } from '../deadline.ts';

/** Time between two polls. */
const POLL_MS = 50;
/** Time between two polls for half a second after a waiter got changes: more usually follow. */
const BUSY_POLL_MS = 10;
const BUSY_MS = 500;
/** Without waiters. The first waiter wakes the watch. */
const IDLE_MS = 3_600_000;
/** Within this time the stamp of every store with a waiter is read. */
const ROUND_MS = 1_000;

/** What a poll reads of a store. */
type Shown = Pick<Stamp, '_id' | 'positions' | 'epochs' | 'slice_partition' | 'slice_end'>;

/** The state of a store that a waiter has read. */
interface Known {
  position: number;
  epochs: string | undefined;
}

const FIELDS: Document = { positions: 1, epochs: 1, slice_partition: 1, slice_end: 1 };
/** A later page, which is read in a snapshot, shows at least as much. */
const MAJORITY = { readConcern: 'majority', batchSize: 10_000 } as const;

interface WatchOptions {
  generation: Generation;
  withDeadline: WithDeadline;
  logger: Logger;
  /** Whether this generation answers requests. */
  isCurrent: () => boolean;
}

export function watchChanges({ generation, withDeadline, logger, isCurrent }: WatchOptions) {
  /** By store id. */
  const stores = new Map<string, Set<Waiter>>();
  /** The stores that this round has not read yet. */
  let round: MapIterator<string> | null = null;
  /** The end of the last slice seen of each partition. */
  const ends = new Map<number, number>();
  /** When stores were last read in turn. */
  let turnAt = -Infinity;
  /** When a waiter last got changes. */
  let newsAt = -Infinity;
  const polling = startPeriodicTask({
    run: poll,
    everyMs: POLL_MS,
    failed: (error) =>
      logger.warn(
        { error },
        'polling for changes failed: waiting requests get none until it works again',
      ),
  });

  /**
   * Starts a wait for changes of some kinds of a store's records. Call it before the read that may
   * find none: the waiter gets every change after this call. Call `leave` at the end.
   */
  function enter(storeId: string, kinds: readonly EntityName[]): Waiter {
    const waiter = makeWaiter(storeId, kinds);
    if (stores.size === 0) polling.wake();
    const waiters = stores.get(storeId) ?? new Set();
    stores.set(storeId, waiters.add(waiter));
    return waiter;
  }

  function leave(waiter: Waiter): void {
    const waiters = stores.get(waiter.storeId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) stores.delete(waiter.storeId);
  }

  function end(): void {
    for (const waiters of stores.values()) for (const waiter of waiters) waiter.end();
  }

  /** Ends all waits and the polling. */
  async function stop(): Promise<void> {
    end();
    await polling.stop();
  }

  /** Polls while there are waiters. @returns when to poll again. */
  async function poll(): Promise<number> {
    if (stores.size === 0) {
      // Reset, or the next waiter would miss changes made while there was no polling.
      ends.clear();
      round = null;
      turnAt = -Infinity;
      return IDLE_MS;
    }
    const began = performance.now();
    try {
      await pollOnce(began);
    } finally {
      if (!isCurrent()) end();
    }
    const now = performance.now();
    const interval = now - newsAt < BUSY_MS ? BUSY_POLL_MS : POLL_MS;
    return Math.max(interval - (now - began), BUSY_POLL_MS / 2);
  }

  async function pollOnce(began: number): Promise<void> {
    const stamps = stampsIn(generation.db);
    const isTurn = began - turnAt >= POLL_MS;
    const isFirst = ends.size === 0;
    if (isTurn && round === null) await readCheckpoints();
    const slices = [...ends].map(([slice_partition, end]) => ({
      slice_partition,
      slice_end: { $gt: end },
    }));
    const most = isFirst ? Infinity : Math.ceil((stores.size * POLL_MS) / ROUND_MS);
    const storesInTurn = isTurn ? takeTurn(most) : [];
    if (isTurn) turnAt = began;
    const [changed, others] = await withDeadline((signal) => {
      const find = (filter: Filter<Stamp>) =>
        stamps.find(filter, { ...MAJORITY, projection: FIELDS, signal }).toArray();
      return Promise.all([
        slices.length === 0 ? [] : find({ $or: slices }),
        storesInTurn.length === 0 ? [] : find({ _id: oneOf(storesInTurn) }),
      ]);
    });
    for (const shown of changed) {
      const { slice_partition: partition, slice_end: end } = shown;
      if (partition !== undefined && end !== undefined && end > (ends.get(partition) ?? 0)) {
        ends.set(partition, end);
      }
    }
    // What a slice wrote comes last: it is not found again, while a newer slice is found by the
    // next poll.
    const found = [...others, ...changed];
    for (const shown of found) {
      for (const waiter of stores.get(shown._id) ?? []) {
        if (waiter.receive(shown)) newsAt = began;
      }
    }
    const withStamp = new Set(found.map(({ _id }) => _id));
    for (const storeId of storesInTurn) {
      for (const waiter of stores.get(storeId) ?? []) waiter.polled(withStamp.has(storeId));
    }
  }

  /** Polls new partitions from their checkpoint on, and those that a restored database set back. */
  async function readCheckpoints(): Promise<void> {
    const checkpoints = generation.db.collection<{ partition: number; position: number }>(
      CHECKPOINTS,
    );
    const found = await withDeadline((signal) =>
      checkpoints
        .find({}, { ...MAJORITY, projection: { partition: 1, position: 1 }, signal })
        .toArray(),
    );
    for (const { partition, position } of found) {
      const end = ends.get(partition);
      if (end === undefined || position < end) ends.set(partition, position);
    }
  }

  /** The stores to read now. After the last one a new round begins. */
  function takeTurn(most: number): string[] {
    round ??= stores.keys();
    const turn = [...round.take(most)];
    if (turn.length < most) round = null;
    return turn;
  }

  return { enter, leave, end, stop };
}

type Waiter = ReturnType<typeof makeWaiter>;

function makeWaiter(storeId: string, kinds: readonly EntityName[]) {
  let shown: Shown | null = null;
  let isOver = false;
  /** The state that it knows, and the end of its wait. */
  let waiting: { known: Known | null; resolve: () => void } | null = null;

  const resolve = () => {
    waiting?.resolve();
    waiting = null;
  };
  /**
   * With another epoch, positions may repeat: another process gives them, or the database was
   * restored.
   */
  const isNews = ({ position, epochs }: Known) =>
    shown !== null &&
    (shown.epochs !== epochs || kinds.some((kind) => (shown?.positions?.[kind] ?? 0) > position));

  return {
    storeId,
    /** Its time, the generation or the service ended. */
    get isOver() {
      return isOver;
    },
    /** The positions of the store's kinds at the last poll. */
    get positions() {
      return shown?.positions;
    },
    /**
     * Resolves when the store has changes that are not known, or the wait is over.
     * @param known `null` if the store could not be read: then the next poll of the store resolves it.
     */
    waitForNews(known: Known | null): Promise<void> {
      const ended = Promise.withResolvers<void>();
      waiting = { known, resolve: ended.resolve };
      if (isOver || (known !== null && isNews(known))) resolve();
      return ended.promise;
    },
    /** Takes a polled state of the store. @returns whether it ends the wait. */
    receive(polled: Shown): boolean {
      shown = polled;
      if (waiting === null || (waiting.known !== null && !isNews(waiting.known))) return false;
      resolve();
      return true;
    },
    /**
     * Called after each poll of the store. Without a stamp, as after an erasure, nothing is known of
     * it.
     */
    polled(hasStamp: boolean): void {
      if (!hasStamp) shown = null;
      if (waiting?.known === null) resolve();
    },
    end(): void {
      isOver = true;
      resolve();
    },
  };
}
