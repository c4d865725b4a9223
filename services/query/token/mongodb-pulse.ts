/**
 * Whether MongoDB answers, for requests that need nothing else of it. Without it no token is given, whatever is known
 * here: so that what it would say is never older than a moment.
 */
import type { Db } from 'mongodb';
import type { Bounded } from '../deadline.ts';

/** For so long an answer is proof enough: a few questions a second under load, one for each request without. */
const FRESH_MS = 100;

export class MongodbPulse {
  readonly #control: Db;
  readonly #bounded: Bounded;
  /** When the last question that was answered was asked, by `performance.now()`. */
  #answered = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(control: Db, bounded: Bounded) {
    this.#control = control;
    this.#bounded = bounded;
  }

  /**
   * Resolves, mostly at once, where the primary has answered just now; those who wait share one question.
   * @throws when it does not answer in time.
   */
  felt(): Promise<void> | null {
    if (performance.now() - this.#answered < FRESH_MS) return null;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const asked = performance.now();
    await this.#bounded(() => this.#control.command({ ping: 1 }, { readPreference: 'primary' }));
    this.#answered = asked;
  }
}
