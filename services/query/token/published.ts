/**
 * What this service has published to Redis on the present connection: a version that is there already need not be
 * written with every token. Should Redis lose it all the same, the request that needs it loads it from MongoDB.
 */
import { LRUCache } from 'lru-cache';
import type { Passage } from '../access/redis-gate.ts';

const REMEMBERED = 40_000;

export class Published {
  #passage: Passage | null = null;
  readonly #versions = new LRUCache<string, number>({ max: REMEMBERED });

  /** Whether a version of what has that key was published during a passage. */
  has(passage: Passage, key: string, version: number): boolean {
    return passage === this.#passage && this.#versions.get(key) === version;
  }

  note(passage: Passage, key: string, version: number): void {
    if (passage !== this.#passage) this.#versions.clear();
    this.#passage = passage;
    this.#versions.set(key, version);
  }
}
