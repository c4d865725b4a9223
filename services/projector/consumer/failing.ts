/** Failures that follow each other at one place: what of them is said, and how many were no outage. */

const SAID_EVERY_MS = 60_000;

export interface Failures {
  /** How many in turn. */
  attempts: number;
  seconds: number;
}

export class Failing {
  #offset: number | null = null;
  #since = 0;
  #attempts = 0;
  #saidAt = 0;
  #answered = 0;

  /** Notes a failure at an offset. @returns what to say, at once and then every minute; `null` when it was just said. */
  failed(offset: number, now = performance.now()): Failures | null {
    if (offset !== this.#offset) {
      this.end();
      this.#offset = offset;
      this.#since = now;
    }
    this.#attempts += 1;
    if (this.#attempts > 1 && now - this.#saidAt < SAID_EVERY_MS) return null;
    this.#saidAt = now;
    return { attempts: this.#attempts, seconds: Math.round((now - this.#since) / 1_000) };
  }

  /** Notes that the database answers: the failure before was no outage. @returns how many of those in turn were none. */
  answered(): number {
    if (this.#attempts > 0) this.#answered += 1;
    return this.#answered;
  }

  /** Notes that it goes on. @returns whether it had failed. */
  end(): boolean {
    const hadFailed = this.#attempts > 0;
    this.#offset = null;
    this.#attempts = 0;
    this.#answered = 0;
    return hadFailed;
  }
}
