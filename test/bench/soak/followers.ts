/** Clients that follow the changes of a store and wait for more; of stores whose orders are timed they tell how old each was. */
import { pause } from '#shared/pause.ts';
import type { LiveStore } from '../freshness/stream.ts';
import type { Client } from './client.ts';
import type { Tally } from './tally.ts';

const WAIT_SECONDS = 20;
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
    const { results, next } = answer.body as Page;
    for (const { id } of results) timed?.seen(id);
    query = `&wait=${WAIT_SECONDS}&after=${next}`;
  }
}

/** Takes the time of a live store's orders. */
export class Timed {
  readonly #store: LiveStore;
  readonly #tally: Tally;

  constructor(store: LiveStore, tally: Tally) {
    this.#store = store;
    this.#tally = tally;
  }

  seen(id: string): void {
    const published = this.#store.waiting.get(id);
    if (published === undefined) return;
    this.#store.waiting.delete(id);
    this.#tally.told(Date.now() - published);
  }
}
