/** A client that asks for the newest orders again and again, and notes when it sees each for the first time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveStore } from './stream.ts';

const PAGE_SIZE = 50;
/** Orders may come behind later ones; who was missed for so long is looked for further down. */
const MISSED_MS = 500;
const MOST_PAGES = 20;

export interface Visiting {
  /** Milliseconds from each order's `time` to the answer that showed it. */
  ages: number[];
  /** Stops asking. */
  stop: () => Promise<void>;
}

/** @param everyMs pause between an answer and the next request. */
export function visit(url: string, token: string, { waiting }: LiveStore, everyMs: number): Visiting {
  const ages: number[] = [];
  const stopping = new AbortController();
  /** @returns how many of the page's orders are seen for the first time. */
  const look = async (page: number): Promise<number> => {
    const response = await fetch(`${url}/api/order/list?page=${page}&page_size=${PAGE_SIZE}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (response.status !== 200) throw new Error(`the order list was answered ${response.status}`);
    const { results } = (await response.json()) as { results: { id: string }[] };
    const now = Date.now();
    let seen = 0;
    for (const { id } of results) {
      const time = waiting.get(id);
      if (time === undefined) continue;
      waiting.delete(id);
      ages.push(now - time);
      seen += 1;
    }
    return seen;
  };
  const misses = () => Date.now() - (waiting.values().next().value ?? Infinity) > MISSED_MS;
  const running = (async () => {
    while (!stopping.signal.aborted) {
      for (let page = 1; page <= MOST_PAGES; page += 1) {
        if ((await look(page)) < PAGE_SIZE && !misses()) break;
      }
      await sleep(everyMs);
    }
  })();
  running.catch(() => undefined);
  return {
    ages,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
