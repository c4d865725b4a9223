/**
 * Work that is done for each environment again and again, side by side: one whose servers do not answer holds up no other. What is
 * still under way is not begun a second time.
 */
import { withTimeLimit } from '#shared/waiting.ts';

/** Longer than it takes where servers answer. */
const PATIENCE_MS = 2_000;

export class SideBySide {
  readonly #underWay = new Map<string, Promise<unknown>>();

  /**
   * Does the work of an environment, unless it is under way.
   * @param work must not fail.
   * @returns what it comes to; `late` where that takes longer than others are to wait.
   */
  async run<T>(environment: string, work: () => Promise<T>, late: T): Promise<T> {
    if (this.#underWay.has(environment)) return late;
    const working = work().finally(() => this.#underWay.delete(environment));
    this.#underWay.set(environment, working);
    const isLate = new Error('it takes too long');
    return withTimeLimit(
      PATIENCE_MS,
      () => isLate,
      () => working,
    ).catch((error: unknown) => {
      if (error !== isLate) throw error;
      return late;
    });
  }

  /** Resolves when nothing is under way any longer. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }
}
