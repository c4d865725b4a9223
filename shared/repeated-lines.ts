/** Keeps what is logged again and again during an outage to one line a minute. */
import { LRUCache } from 'lru-cache';

const SAID_EVERY_MS = 60_000;
const CACHED_LINES = 100;

export class RepeatedLines {
  readonly #said = new LRUCache<string, { at: number; leftOut: number }>({ max: CACHED_LINES });

  /** @returns how often the line was left out since it was said last; `null` where it is to be left out now. */
  say(line: string, now = performance.now()): number | null {
    const said = this.#said.get(line);
    if (said !== undefined && now - said.at < SAID_EVERY_MS) {
      said.leftOut += 1;
      return null;
    }
    this.#said.set(line, { at: now, leftOut: 0 });
    return said?.leftOut ?? 0;
  }
}
