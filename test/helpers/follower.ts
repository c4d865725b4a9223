/**
 * A client that follows the changes of one kind of records and keeps a copy: it takes in each answer, stores `next`, and goes on
 * from there, whatever fails in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';

interface Changes {
  results: { id: string; deleted: boolean; record: Record<string, unknown> | null }[];
  next: string;
  more: boolean;
}

export class Follower {
  /** What it believes to be there, by id. */
  readonly copy = new Map<string, Record<string, unknown>>();
  /** Ids of which a deletion was told. */
  readonly deleted = new Set<string>();
  next: string | null = null;
  answers = 0;
  readonly #api: ApiClient;
  readonly #token: string;
  readonly #kind: string;
  readonly #pageSize: number;
  #stopped = false;
  #running: Promise<void>;

  /** Begins to follow. */
  constructor(api: ApiClient, token: string, kind: string, pageSize = 7) {
    this.#api = api;
    this.#token = token;
    this.#kind = kind;
    this.#pageSize = pageSize;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const after = this.next === null ? '' : `&after=${this.next}`;
      const path = `/api/${this.#kind}/changes?wait=1&page_size=${this.#pageSize}${after}`;
      const answer = await this.#api.get(path, this.#token);
      if (answer.status !== 200) {
        if (answer.status !== 503) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
        await sleep(100);
        continue;
      }
      const page = answer.json as Changes;
      for (const { id, record } of page.results) {
        if (record === null) {
          this.copy.delete(id);
          this.deleted.add(id);
        } else {
          this.copy.set(id, record);
        }
      }
      this.next = page.next;
      this.answers += 1;
    }
  }
}
