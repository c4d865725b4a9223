/** What a deep verification found. It never holds a value of a record, only names of fields and ids. */
import type { Difference } from '#shared/projection/ranking/verify.ts';

/** More are counted and not listed: a lost collection would fill the memory. */
const MOST_LISTED = 10_000;
const MOST_LISTED_OF_STORE = 1_000;

export class Findings {
  #listed: Difference[] = [];
  readonly #counts = new Map<string, number>();

  get listed(): readonly Difference[] {
    return this.#listed;
  }

  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Adds one. @param counted what the log says. */
  add(storeId: string, what: string, stored: string, counted: string): void {
    const count = (this.#counts.get(storeId) ?? 0) + 1;
    this.#counts.set(storeId, count);
    if (count <= MOST_LISTED_OF_STORE && this.#listed.length < MOST_LISTED) {
      this.#listed.push({ storeId, what, stored, counted });
    }
  }

  /** Takes back what was found of stores that could not be judged. */
  forget(stores: { has: (storeId: string) => boolean }): void {
    this.#listed = this.#listed.filter(({ storeId }) => !stores.has(storeId));
    for (const storeId of this.#counts.keys()) if (stores.has(storeId)) this.#counts.delete(storeId);
  }
}
