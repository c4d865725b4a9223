/** Clients that follow the changes of a store and wait for more; of stores whose orders are timed they tell how old each was. */
import { pause } from '#shared/pause.ts';
import type { LiveStore } from '../freshness/stream.ts';
import type { Client } from './client.ts';
import type { Tally } from './tally.ts';

/** All of them wait for some seconds of each round, and are away for the rest: where somebody waits services look for changes often. */
const ROUND_MS = 60_000;
const WAITING_MS = 15_000;
const WAIT_SECONDS = 5;
const AGAIN_MS = 1_000;

interface Page {
  results: { id: string }[];
  next: string;
  more: boolean;
}

/** Follows one kind of records from the beginning until the signal is aborted. */
export async function follow(client: Client, kind: string, over: AbortSignal, timed?: Timed): Promise<void> {
  let query = '';
  while (!over.aborted) {
    const inRound = Date.now() % ROUND_MS;
    if (inRound >= WAITING_MS) {
      timed?.away();
      await pause(ROUND_MS - inRound, over);
    }
    const answer = await client.get({
      kind: 'waiting',
      path: `/api/${kind}/changes?page_size=100${query}`,
      expected: [200],
      isTimed: false,
    });
    if (answer === null) {
      await pause(AGAIN_MS, over);
      continue;
    }
    const { results, next, more } = answer.body as Page;
    for (const { id } of results) timed?.seen(id);
    if (!more) timed?.caughtUp();
    query = `&wait=${WAIT_SECONDS}&after=${next}`;
  }
}

/** Takes the time of a live store's orders, of those that come while it is followed. */
export class Timed {
  readonly #store: LiveStore;
  readonly #tally: Tally;
  #since = Infinity;

  constructor(store: LiveStore, tally: Tally) {
    this.#store = store;
    this.#tally = tally;
  }

  away(): void {
    this.#since = Infinity;
  }

  /** From now on orders are told when they come. */
  caughtUp(): void {
    this.#since = Math.min(this.#since, Date.now());
  }

  seen(id: string): void {
    const published = this.#store.waiting.get(id);
    if (published === undefined) return;
    this.#store.waiting.delete(id);
    if (published >= this.#since) this.#tally.told(Date.now() - published);
  }
}
