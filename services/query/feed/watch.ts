/**
 * Watches one generation for all who wait for changes of its stores: one look at the stamps serves them all, however many they
 * are. Stamps are found by the slices that wrote them, so that a look costs what has changed and not who waits. What no slice
 * wrote (a retried dead letter, an erasure in pieces, a restored database) is found by looking at every store that somebody
 * waits for in turn, each once a second.
 */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities/index.ts';
import type { Logger } from '#shared/logging.ts';
import { CHECKPOINTS, oneOf, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import type { Bounded } from '../deadline.ts';

/** Time between two looks. */
const LOOK_MS = 50;
/** Time between two looks while somebody who waits is told of changes: as a rule more follow. */
const BUSY_LOOK_MS = 10;
/** For how long after that looks are so frequent. */
const BUSY_MS = 500;
/** Who comes first wakes the watch. */
const IDLE_MS = 3_600_000;
/** Within this time every store is looked at, whoever changed it. */
const ROUND_MS = 1_000;

/** What a look shows of a store. */
type Shown = Pick<Stamp, '_id' | 'positions' | 'epochs' | 'slice_partition' | 'slice_end'>;

/** What a waiter has seen of its store. */
export interface Known {
  /** The store's position. */
  position: number;
  epochs: string | undefined;
}

const FIELDS: Document = { positions: 1, epochs: 1, slice_partition: 1, slice_end: 1 };
/** Read as pages are, so that no page read later shows less. */
const MAJORITY = { readConcern: 'majority', batchSize: 10_000 } as const;

export interface WatchOptions {
  generation: Generation;
  bounded: Bounded;
  logger: Logger;
  /** Whether requests are answered from this generation. */
  isCurrent: () => boolean;
}

export class Watch {
  readonly #options: WatchOptions;
  /** By store id. */
  readonly #stores = new Map<string, Set<Waiter>>();
  /** The rest of the present round through the stores. */
  #round: Iterator<string> | null = null;
  /** How far each partition's slices have been looked at. */
  readonly #ends = new Map<number, number>();
  /** When stores were last looked at in turn, and when somebody was last told of changes. */
  #turnAt = -Infinity;
  #newsAt = -Infinity;
  readonly #looking: PeriodicTask;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#looking = new PeriodicTask({
      run: () => this.#look(),
      everyMs: LOOK_MS,
      failed: (error) => options.logger.warn({ error }, 'stores cannot be looked at for those who wait'),
    });
  }

  /**
   * Begins to wait for changes of one kind of records of a store. Call it before the read that shall find none: what is changed
   * after that is shown to the waiter. Who enters has to leave.
   */
  enter(storeId: string, entity: EntityName): Waiter {
    const waiter = new Waiter(storeId, entity);
    const waiters = this.#stores.get(storeId);
    if (waiters === undefined) this.#stores.set(storeId, new Set([waiter]));
    else waiters.add(waiter);
    if (this.#stores.size === 1) this.#looking.wake();
    return waiter;
  }

  /** Ends a wait. */
  leave(waiter: Waiter): void {
    const waiters = this.#stores.get(waiter.storeId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#stores.delete(waiter.storeId);
  }

  /** Ends all waits. */
  end(): void {
    for (const waiters of this.#stores.values()) for (const waiter of waiters) waiter.end();
  }

  /** Ends all waits and the looks. */
  async stop(): Promise<void> {
    this.end();
    await this.#looking.stop();
  }

  /** Looks for as long as somebody waits. @returns when to look again. */
  async #look(): Promise<number> {
    if (this.#stores.size === 0) {
      // Who comes next shall not take for seen what nobody looked at meanwhile.
      this.#ends.clear();
      this.#round = null;
      this.#turnAt = -Infinity;
      return IDLE_MS;
    }
    const began = performance.now();
    try {
      await this.#lookOnce(began);
    } finally {
      if (!this.#options.isCurrent()) this.end();
    }
    const now = performance.now();
    const interval = now - this.#newsAt < BUSY_MS ? BUSY_LOOK_MS : LOOK_MS;
    return Math.max(interval - (now - began), BUSY_LOOK_MS / 2);
  }

  async #lookOnce(began: number): Promise<void> {
    const { generation, bounded } = this.#options;
    const stamps = generation.db.collection<Stamp>(STAMPS);
    const isTurn = began - this.#turnAt >= LOOK_MS;
    const isFirst = this.#ends.size === 0;
    if (isTurn && this.#round === null) await this.#lookAtCheckpoints();
    const slices = [...this.#ends].map(([slice_partition, end]) => ({
      slice_partition,
      slice_end: { $gt: end },
    }));
    const most = isFirst ? Infinity : (this.#stores.size * LOOK_MS) / ROUND_MS;
    const inTurn = isTurn ? this.#inTurn(most) : [];
    if (isTurn) this.#turnAt = began;
    const [changed, others] = await bounded((signal) =>
      Promise.all([
        slices.length === 0
          ? []
          : stamps.find({ $or: slices }, { ...MAJORITY, projection: FIELDS, signal }).toArray(),
        inTurn.length === 0
          ? []
          : stamps.find({ _id: oneOf(inTurn) }, { ...MAJORITY, projection: FIELDS, signal }).toArray(),
      ]),
    );
    for (const shown of changed) {
      const { slice_partition: partition, slice_end: end } = shown;
      if (partition !== undefined && end !== undefined && end > (this.#ends.get(partition) ?? 0)) {
        this.#ends.set(partition, end);
      }
    }
    for (const shown of [...changed, ...others]) {
      for (const waiter of this.#stores.get(shown._id) ?? []) {
        if (waiter.show(shown)) this.#newsAt = began;
      }
    }
    for (const storeId of inTurn) for (const waiter of this.#stores.get(storeId) ?? []) waiter.looked();
  }

  /** Partitions that are new are looked at from where they stand, and so are those that a restored database set back. */
  async #lookAtCheckpoints(): Promise<void> {
    const { generation, bounded } = this.#options;
    const checkpoints = generation.db.collection<{ partition: number; position: number }>(CHECKPOINTS);
    const found = await bounded((signal) =>
      checkpoints.find({}, { ...MAJORITY, projection: { partition: 1, position: 1 }, signal }).toArray(),
    );
    for (const { partition, position } of found) {
      const end = this.#ends.get(partition);
      if (end === undefined || position < end) this.#ends.set(partition, position);
    }
  }

  /** The stores whose turn it is; a round that is through begins again with the next look. */
  #inTurn(most: number): string[] {
    this.#round ??= this.#stores.keys();
    const turn: string[] = [];
    while (turn.length < most) {
      const { done, value } = this.#round.next();
      if (done === true) {
        this.#round = null;
        break;
      }
      turn.push(value);
    }
    return turn;
  }
}

/** One who waits. */
export class Waiter {
  readonly storeId: string;
  readonly #entity: EntityName;
  #shown: Shown | null = null;
  #isOver = false;
  /** What is waited for beyond, and who is told. */
  #waiting: { known: Known | null; resolve: () => void } | null = null;

  constructor(storeId: string, entity: EntityName) {
    this.storeId = storeId;
    this.#entity = entity;
  }

  /** Whether nothing is to be waited for any longer, as the generation or the service goes. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Resolves when the store has moved on from what is known, or the wait is over.
   * @param known `null` where the store could not be read: then it resolves as soon as it was looked at.
   */
  moved(known: Known | null): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { known, resolve };
      if (this.#isOver || (known !== null && this.#isNews(known))) this.#tell();
    });
  }

  /** Shows what was found of the store. @returns whether that ends the waiting. */
  show(shown: Shown): boolean {
    this.#shown = shown;
    const known = this.#waiting?.known;
    const isNews = known === null || (known !== undefined && this.#isNews(known));
    if (isNews) this.#tell();
    return isNews;
  }

  /** The store was looked at, and may have no stamp. */
  looked(): void {
    if (this.#waiting?.known === null) this.#tell();
  }

  /** Ends the wait. */
  end(): void {
    this.#isOver = true;
    this.#tell();
  }

  /** Another epoch says that others give the positions now, or that they are given again. */
  #isNews({ position, epochs }: Known): boolean {
    if (this.#shown === null) return false;
    return (this.#shown.positions?.[this.#entity] ?? 0) > position || this.#shown.epochs !== epochs;
  }

  #tell(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }
}
