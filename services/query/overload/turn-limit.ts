/**
 * How many requests are begun in one turn of the event loop. Refusals, `/health` and the answers of others wait for the end of a turn, and
 * what is begun together comes back from the servers together. So a turn that took too long lets fewer be begun, whatever it was
 * that took the time. Pure: it is told how long turns took.
 */

/** A turn shall take no longer. */
const ALLOWED_MS = 8;
/** Requests that are begun together share reads: always so many, and never more. */
export const [FEWEST, MOST] = [6, 32];
/** How fast the number falls and grows back with each turn. */
const [SHRINKAGE, GROWTH] = [0.8, 1];

export class TurnLimit {
  #limit = MOST;

  get value(): number {
    return this.#limit;
  }

  /** Takes in how long the last turn took. */
  adapt(turnMs: number): void {
    this.#limit =
      turnMs > ALLOWED_MS
        ? Math.max(FEWEST, Math.floor(this.#limit * SHRINKAGE))
        : Math.min(MOST, this.#limit + GROWTH);
  }
}
