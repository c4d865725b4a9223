/**
 * Reads a partition's log for its loop and proves each batch. While the log has more, it reads
 * ahead as the loop writes.
 */
import type { Clock } from '#shared/waiting.ts';
import type { Continuity, Verdict } from './continuity.ts';
import type { PartitionLog, Prepare } from './edges.ts';

/**
 * The least time between two batches at the end of the log. A transaction costs 8 ms of processor
 * time however small it is: more of them make all of them slow.
 */
const BATCHES_APART_MS = 40;

export type Found = Exclude<Verdict, { kind: 'undecided' }>;

export class Feed {
  readonly continuity: Continuity;
  readonly #log: PartitionLog;
  readonly #clock: Clock;
  /** Called with messages that wait while the loop writes others. */
  readonly #prepare: Prepare;
  #closing = new AbortController();
  #reading: Promise<Found | null> | null = null;
  #isAwaited = false;
  #isEmpty = true;
  #tookAt = -Infinity;

  constructor(log: PartitionLog, continuity: Continuity, clock: Clock, prepare: Prepare) {
    this.#log = log;
    this.continuity = continuity;
    this.#clock = clock;
    this.#prepare = prepare;
  }

  /** Whether nothing was read yet for the next call of `next`. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Ends the present read. `next` reads again, as the continuity wants it then. */
  close(): void {
    this.#closing.abort();
    this.#closing = new AbortController();
    this.#reading = null;
  }

  /** What the log has next; `null` if nothing comes within `quietMs`. */
  async next(quietMs: number): Promise<Found | null> {
    this.#isAwaited = true;
    this.#reading ??= this.#read(this.#closing.signal);
    const came = new AbortController();
    // A closed read ends with `null` by itself, and this pause with it.
    const quiet = this.#clock.sleep(quietMs, came.signal).then(() => null);
    const found = await Promise.race([this.#reading, quiet]).finally(() => {
      came.abort();
      this.#isAwaited = false;
    });
    if (found === null) return null;
    this.#reading = null;
    this.#isEmpty = true;
    if (found.kind !== 'take') return found;
    this.#tookAt = this.#clock.now();
    // At the end of the log the next read begins when this batch is written: what comes meanwhile
    // makes one batch.
    if (!this.continuity.wanted.atEnd) {
      this.#reading = this.#read(this.#closing.signal);
      // The loop learns of it when it reads next.
      this.#reading.catch(() => undefined);
    }
    return found;
  }

  async #read(closing: AbortSignal): Promise<Found | null> {
    for (;;) {
      const { wanted } = this.continuity;
      const pauseMs = wanted.atEnd ? this.#tookAt + BATCHES_APART_MS - this.#clock.now() : 0;
      if (pauseMs > 0) await this.#clock.sleep(pauseMs, closing);
      const answer = await this.#log.read(wanted, closing);
      if (answer === null || closing.aborted) return null;
      const verdict = this.continuity.judge(answer);
      if (verdict.kind === 'undecided') continue;
      this.#isEmpty = false;
      if (verdict.kind === 'take' && !this.#isAwaited) this.#prepare(verdict.taken.messages);
      return verdict;
    }
  }
}
