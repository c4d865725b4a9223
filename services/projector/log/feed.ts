/** Passes fetched batches to the loop: proves each, holds one while another is written, and decides alone what is fetched and when. */
import type { Clock } from '#shared/waiting.ts';
import type { Continuity, FetchedBatch, Taken, Verdict } from './continuity.ts';
import type { PartitionLog, Prepare } from './edges.ts';

/** How long one partition's batch may block the fetch for all: after that the partition pauses. */
const MAX_WAIT_MS = 100;
/**
 * The least time between two batches at the end of the log. A transaction costs 8 ms of processor time however small it is: more of them
 * make all of them slow.
 */
const BATCHES_APART_MS = 40;

export type Fetched = Exclude<Verdict, { kind: 'undecided' }>;

interface Item {
  fetched: Fetched;
  /** Aborted when the loop takes it. */
  begun: AbortController;
  /** Aborted when the loop has finished it. */
  done: AbortController;
}

export class Feed {
  readonly #log: PartitionLog;
  readonly #clock: Clock;
  /** Aborted when another loop controls the log. */
  readonly #over: AbortSignal;
  /** Called with messages that wait while the loop writes others. */
  readonly #prepare: Prepare;
  /** `null` while the log is not followed. */
  #continuity: Continuity | null = null;
  #isFetching = false;
  #waiting: Item | null = null;
  #underWay: Item | null = null;
  /** Ends the loop's wait; `null` while it does not wait. */
  #waking: AbortController | null = null;

  constructor(log: PartitionLog, clock: Clock, over: AbortSignal, prepare: Prepare) {
    this.#log = log;
    this.#clock = clock;
    this.#over = over;
    this.#prepare = prepare;
    log.pause();
  }

  /** Whether the loop waits for a batch. */
  get isIdle(): boolean {
    return this.#waking !== null && this.#waiting === null;
  }

  get isEmpty(): boolean {
    return this.#waiting === null;
  }

  open(continuity: Continuity): void {
    this.#continuity = continuity;
    this.continue();
  }

  /** Drops fetched batches, and fetches nothing until it is opened again. */
  close(): void {
    this.#fetch(false);
    this.#continuity = null;
    this.#waiting?.begun.abort();
    this.#underWay?.done.abort();
    this.#waking?.abort();
    this.#waiting = this.#underWay = null;
  }

  hold(): void {
    this.#fetch(false);
  }

  continue(): void {
    this.seek();
    this.#fetch(true);
  }

  /** Lets the next fetch begin where the continuity wants it. kafkajs forgets that with each assignment. */
  seek(): void {
    if (this.#continuity !== null && !this.#over.aborted) this.#log.seek(this.#continuity.from);
  }

  /**
   * Takes a batch. While the log has more, it resolves as soon as the loop has taken the batch, or after a short wait: kafkajs fetches for
   * all partitions together, and not before this has resolved for each.
   */
  async take(batch: FetchedBatch): Promise<void> {
    const continuity = this.#continuity;
    if (continuity === null || !this.#isFetching || this.#waiting !== null) return;
    const found = continuity.judge(batch);
    this.seek();
    if (found.kind === 'undecided') return;
    const item = { fetched: found, begun: new AbortController(), done: new AbortController() };
    this.#waiting = item;
    const isAwaited = this.#waking !== null;
    this.#waking?.abort();
    if (found.kind !== 'take') return this.hold();
    if (!isAwaited) this.#prepare(found.taken.messages);
    await this.#waitForNextFetch(item, found.taken);
  }

  async #waitForNextFetch(item: Item, { next, logEnd }: Taken): Promise<void> {
    // Not paused at once: the fetch after a pause may wait long for messages of other partitions.
    await this.#clock.sleep(MAX_WAIT_MS, item.begun.signal);
    if (this.#waiting === item) return this.#fetch(false);
    if (next < logEnd) return;
    // Messages that come meanwhile make one batch.
    const began = this.#clock.now();
    await this.#clock.sleep(MAX_WAIT_MS, item.done.signal);
    await this.#clock.sleep(Math.max(0, began + BATCHES_APART_MS - this.#clock.now()), this.#over);
  }

  /** The next batch, which also says that the loop has finished the one before; `null` if none comes within `quietMs`. */
  async next(quietMs: number): Promise<Fetched | null> {
    this.#underWay?.done.abort();
    this.#underWay = null;
    if (this.#waiting === null && !this.#over.aborted) {
      this.#waking = new AbortController();
      await this.#clock.sleep(quietMs, this.#waking.signal);
      this.#waking = null;
    }
    const item = this.#waiting;
    if (item === null) return null;
    this.#waiting = null;
    this.#underWay = item;
    item.begun.abort();
    if (item.fetched.kind === 'take') this.#fetch(true);
    return item.fetched;
  }

  #fetch(isWanted: boolean): void {
    if (this.#over.aborted || this.#continuity === null || isWanted === this.#isFetching) return;
    this.#isFetching = isWanted;
    if (isWanted) this.#log.resume();
    else this.#log.pause();
  }
}
