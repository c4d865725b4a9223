/**
 * A client that follows a feed and keeps a copy: it takes in each answer, stores `next`, and goes on from there, whatever fails in
 * between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';

export interface Changes {
  results: { kind: string; id: string; deleted: boolean; record: Record<string, unknown> | null }[];
  next: string;
  more: boolean;
}

export class Follower {
  /** What it believes to be there, by kind and id. */
  readonly copy = new Map<string, Record<string, unknown>>();
  /** Of which a deletion was told. */
  readonly deleted = new Set<string>();
  next: string | null = null;
  answers = 0;
  readonly #api: ApiClient;
  readonly #token: string;
  readonly #feed: string;
  #stopped = false;
  #running: Promise<void>;

  /** Begins to follow. @param feed its path and parameters, but for `after` and `wait`. */
  constructor(api: ApiClient, token: string, feed: string) {
    this.#api = api;
    this.#token = token;
    this.#feed = feed;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const after = this.next === null ? '' : `&after=${this.next}`;
      const path = `${this.#feed}&wait=1${after}`;
      const answer = await this.#api.get(path, this.#token);
      if (answer.status !== 200) {
        if (answer.status !== 503) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
        await sleep(100);
        continue;
      }
      const page = answer.json as Changes;
      for (const { kind, id, record } of page.results) {
        const name = `${kind}/${id}`;
        if (record === null) {
          this.copy.delete(name);
          this.deleted.add(name);
        } else {
          this.copy.set(name, record);
        }
      }
      this.next = page.next;
      this.answers += 1;
    }
  }
}
