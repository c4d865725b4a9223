/**
 * What is fetched of a partition on its way to the loop: proves each batch, keeps one while another is written, and alone decides
 * whether the log is fetched, and from where.
 */
import type { Clock } from '#shared/waiting.ts';
import type { Continuity, FetchedBatch, Taken, Verdict } from './continuity.ts';
import type { PartitionLog, Prepare } from './edges.ts';

/** How long nothing is fetched for any partition because one is not done with its batch: longer ones pause. */
const MAX_WAIT_MS = 100;
/**
 * Where nothing waits in the log the next fetch comes so long after the last batch was begun. A transaction costs 8 ms of processor time
 * however small it is: more of them make all of them slow.
 */
const BATCHES_APART_MS = 40;

export type Fetched = Exclude<Verdict, { kind: 'look' }>;

interface Item {
  fetched: Fetched;
  /** Aborted when the loop takes it, and when it is done with it. */
  begun: AbortController;
  done: AbortController;
}

export class Feed {
  readonly #log: PartitionLog;
  readonly #clock: Clock;
  /** Aborted when another loop controls the log. */
  readonly #over: AbortSignal;
  /** Told which messages wait while the loop is not done with others. */
  readonly #prepare: Prepare;
  /** `null` while nothing is followed. */
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

  /** Whether the loop waits, and nothing came. */
  get isIdle(): boolean {
    return this.#waking !== null && this.#waiting === null;
  }

  get isEmpty(): boolean {
    return this.#waiting === null;
  }

  open(continuity: Continuity): void {
    this.#continuity = continuity;
    this.goOn();
  }

  /** Forgets what was fetched, and fetches nothing until it is opened again. */
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

  goOn(): void {
    this.seek();
    this.#fetch(true);
  }

  /** Has the next fetch begin where the continuity wants it: kafkajs forgets that with each assignment. */
  seek(): void {
    if (this.#continuity !== null && !this.#over.aborted) this.#log.seek(this.#continuity.from);
  }

  /**
   * Takes a batch. Where more waits in the log it resolves once the loop has begun with it, or soon, so that kafkajs fetches meanwhile:
   * it fetches for all partitions together, and not before each has taken what came last.
   */
  async take(batch: FetchedBatch): Promise<void> {
    const continuity = this.#continuity;
    if (continuity === null || !this.#isFetching || this.#waiting !== null) return;
    const found = continuity.judge(batch);
    this.seek();
    if (found.kind === 'look') return;
    const item = { fetched: found, begun: new AbortController(), done: new AbortController() };
    this.#waiting = item;
    const isAwaited = this.#waking !== null;
    this.#waking?.abort();
    if (found.kind !== 'take') return this.hold();
    if (!isAwaited) this.#prepare(found.taken.messages);
    await this.#untilNextFetch(item, found.taken);
  }

  async #untilNextFetch(item: Item, { next, logEnd }: Taken): Promise<void> {
    // Better than to pause at once: the fetch after a pause may wait long for messages of others.
    await this.#clock.sleep(MAX_WAIT_MS, item.begun.signal);
    if (this.#waiting === item) return this.#fetch(false);
    if (next < logEnd) return;
    // What comes meanwhile comes as one batch then.
    const began = this.#clock.now();
    await this.#clock.sleep(MAX_WAIT_MS, item.done.signal);
    await this.#clock.sleep(Math.max(0, began + BATCHES_APART_MS - this.#clock.now()), this.#over);
  }

  /** What comes next, once the loop is done with what it was given before; `null` where nothing comes for so long. */
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
