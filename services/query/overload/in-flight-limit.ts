/**
 * How many requests may be in flight: as many as are answered within the latency that is allowed. By Little's law that is the rate
 * of answers times the latency, whatever it is that is short, this thread or a server behind it. Pure: it is told what was seen.
 */

/** What was seen since it was told last. */
export interface Seen {
  /** How long that is. */
  elapsedMs: number;
  /** Requests in flight now, and the most that there were. */
  inFlight: number;
  peak: number;
  /** Requests that arrived, refused or not. */
  asked: number;
  answers: number;
  /** What an answer took, in milliseconds; mean. Of no meaning without answers. */
  answerMs: number;
}

/** So many at once are never refused: as many as there are connections to MongoDB. Answers that are slow although so few are in flight are no sign of load. */
export const LEAST = 64;
/** More answers in a millisecond than one thread gives: beyond it the latency would be exceeded in any case. */
const MOST_PER_MS = 10;
/** What takes long by its nature may take so many times its usual time. */
const SLOWER_THAN_USUAL = 2;
/** The most that it may take, in times of the latency. */
const MOST_TIMES = 4;
/** The limit is multiplied by this with each look at which everything is answered in time. */
const GROWTH = 1.1;
/** The share of what is in flight that one look leaves at least. */
const SHRINKAGE = 0.5;
/** Where more than so many times as much is asked as answered, the load outruns the service. */
const OUTRUN = 1.25;
/** Where the load does not outrun the service, what is in flight does not grow, and may be so many times as much. */
const STEADY_TIMES = 3;
/**
 * The limit shrinks after so many late looks in turn. In one look answers also fall behind where more are asked than before, or where
 * the machine stood still for a moment.
 */
const LOOKS = 2;
/** What a late look counts where the load does not outrun the service: there is time to see. */
const STEADY_LOOK = 0.2;
/** The share of the difference by which the usual time follows with each look. */
const FOLLOWS = 0.1;

export class InFlightLimit {
  readonly #latencyMs: number;
  readonly #most: number;
  #limit: number;
  /** What answers take while few are in flight. */
  #usualMs = 0;
  /** How many looks in turn, each by its weight, have shown that more is in flight than is answered in time. */
  #late = 0;

  /** @param latencyMs what answers may take. */
  constructor(latencyMs: number) {
    this.#latencyMs = latencyMs;
    this.#most = latencyMs * MOST_PER_MS;
    this.#limit = this.#most;
  }

  get value(): number {
    return Math.floor(this.#limit);
  }

  /** Takes in what was seen in a twentieth of a second or more. */
  adapt({ elapsedMs, inFlight, peak, asked, answers, answerMs }: Seen): void {
    // Where nothing is answered nothing is known: a server that is away is no load.
    if (answers === 0) return;
    const isOutrun = asked > answers * OUTRUN;
    if (peak <= LEAST) this.#usualMs += (this.#usualMs === 0 ? 1 : FOLLOWS) * (answerMs - this.#usualMs);
    const [least, most] = [this.#latencyMs, this.#latencyMs * MOST_TIMES];
    const allowedMs = Math.min(most, Math.max(least, this.#usualMs * SLOWER_THAN_USUAL));
    const inTime = (answers / elapsedMs) * allowedMs * (isOutrun ? 1 : STEADY_TIMES);
    this.#late = inFlight > inTime ? this.#late + (isOutrun ? 1 : STEADY_LOOK) : 0;
    if (this.#late >= LOOKS) {
      const shrunk = Math.max(inTime, Math.min(inFlight, this.#limit) * SHRINKAGE);
      this.#limit = Math.max(LEAST, Math.min(this.#limit, shrunk));
    } else if (this.#late === 0) this.#limit = Math.min(this.#most, this.#limit * GROWTH);
  }
}
