/** What a deep verification found. It never holds a value of a record, only names of fields and ids. */
import type { Difference } from '#projector/ranking/verify.ts';

/** More are counted and not listed: a lost collection would fill the memory. */
const MOST_LISTED = 10_000;

export class Findings {
  readonly listed: Difference[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Adds one. @param counted what the log says. */
  add(storeId: string, what: string, stored: string, counted: string): void {
    this.#count += 1;
    if (this.listed.length < MOST_LISTED) this.listed.push({ storeId, what, stored, counted });
  }
}
