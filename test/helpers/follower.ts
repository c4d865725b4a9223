/**
 * A client that follows a feed and keeps a copy. It applies each answer, stores `next`, and
 * continues from there after any failure.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';

type Fields = Record<string, unknown>;

export interface Changes {
  results: { kind: string; id: string; deleted: boolean; record: Fields | null }[];
  timezone_offset: string;
  next: string;
  more: boolean;
}

export class Follower {
  /** The copied records, by kind and id. */
  readonly copy = new Map<string, Fields>();
  /** Records with a received deletion. */
  readonly deleted = new Set<string>();
  answers = 0;
  #next: string | null = null;
  readonly #api: Pick<ApiClient, 'get'>;
  readonly #token: string;
  readonly #feed: string;
  readonly #kept: (record: Fields, page: Changes) => Fields;

  /**
   * @param feed the path and parameters, except `after` and `wait`.
   * @param kept maps a record to its copy.
   */
  constructor(
    api: Pick<ApiClient, 'get'>,
    token: string,
    feed: string,
    kept: (record: Fields, page: Changes) => Fields = (one) => one,
  ) {
    this.#api = api;
    this.#token = token;
    this.#feed = feed;
    this.#kept = kept;
  }

  /** Applies all present changes, page by page. */
  async follow(wait = ''): Promise<void> {
    for (;;) {
      const path = `${this.#feed}${wait}${this.#next === null ? '' : `&after=${this.#next}`}`;
      const { status, text, json } = await this.#api.get(path, this.#token);
      if (status === 503) {
        await sleep(100);
        continue;
      }
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
      const page = json as Changes;
      const changes = page.results.map(({ kind, id, record }) => ({
        name: `${kind}/${id}`,
        record,
      }));
      deepStrictEqual(
        new Set(changes.map(({ name }) => name)).size,
        changes.length,
        `${path} has one twice`,
      );
      for (const { name, record } of changes) {
        if (record === null) {
          this.copy.delete(name);
          this.deleted.add(name);
        } else this.copy.set(name, this.#kept(record, page));
      }
      this.#next = page.next;
      this.answers += 1;
      if (!page.more) return;
    }
  }

  /** Waits for changes and applies them until the signal is aborted. */
  async followUntil(over: AbortSignal): Promise<void> {
    while (!over.aborted) await this.follow('&wait=1');
  }
}
