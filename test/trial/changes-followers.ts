/** Followers of every change feed of every store, whose copies must be what the model says in the end. */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '#test/api-client.ts';
import type { Envelope, Model } from '#test/model.ts';
import { STREAM_STORES } from '#test/streams.ts';

const ALL = { page_size: 100 };

/** What the model says of a store's records, by the kind of the feed. */
const KINDS: Record<string, (model: Model, storeId: string) => Envelope> = {
  order: (model, storeId) => model.orders(storeId, ALL, 'anyone'),
  customer: (model, storeId) => model.customers(storeId, ALL),
  review: (model, storeId) => model.reviews(storeId, ALL),
  campaign: (model, storeId) => model.campaigns(storeId, ALL),
  coupon: (model, storeId) => model.coupons(storeId, ALL),
  category: (model, storeId) => model.categories(storeId, ALL),
  product: (model, storeId) => model.products(storeId, ALL),
  'option-group': (model, storeId) => model.optionGroups(storeId, ALL),
};

interface Changes {
  results: { id: string; deleted: boolean; record: Fields | null }[];
  timezone_offset: string;
  next: string;
  more: boolean;
}
type Fields = Record<string, unknown>;

class Follower {
  readonly #api: ApiClient;
  readonly #token: string;
  readonly #kind: string;
  readonly #copy = new Map<string, Fields>();
  #after: string | null = null;

  constructor(api: ApiClient, token: string, kind: string) {
    this.#api = api;
    this.#token = token;
    this.#kind = kind;
  }

  /** Takes in what there is. In small pages, so that what is read changes meanwhile. */
  async follow(): Promise<void> {
    for (;;) {
      const after = this.#after === null ? '' : `&after=${this.#after}`;
      const path = `/api/${this.#kind}/changes?page_size=3${after}`;
      const { status, json } = await this.#api.get(path, this.#token);
      if (status === 503) {
        await sleep(200);
        continue;
      }
      deepStrictEqual({ path, status }, { path, status: 200 });
      const { results, timezone_offset: offset, next, more } = json as Changes;
      deepStrictEqual(new Set(results.map(({ id }) => id)).size, results.length, `${path} tells one twice`);
      for (const { id, record } of results) {
        if (record === null) this.#copy.delete(id);
        else this.#copy.set(id, instants(record, offset));
      }
      this.#after = next;
      if (!more) return;
    }
  }

  /** Its copy, in the order of ids. */
  get records(): Fields[] {
    return inOrder([...this.#copy.values()]);
  }
}

export class ChangesFollowers {
  readonly #followers: { storeId: string; kind: string; follower: Follower }[];

  constructor(api: ApiClient, tokens: ReadonlyMap<string, string>) {
    this.#followers = STREAM_STORES.flatMap((storeId) =>
      Object.keys(KINDS).map((kind) => ({
        storeId,
        kind,
        follower: new Follower(api, tokens.get(storeId) ?? '', kind),
      })),
    );
  }

  /** Follows until the signal is aborted. */
  async followAlong(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      for (const { follower } of this.#followers) {
        if (over.aborted) return;
        await follower.follow();
      }
      await sleep(100);
    }
  }

  /**
   * Follows to the end and compares. @returns how many copies were compared.
   * @throws {AssertionError} with the store, the kind and both copies at the first difference.
   */
  async compare(model: Model): Promise<number> {
    for (const { storeId, kind, follower } of this.#followers) {
      await follower.follow();
      const offset = model.offset(storeId);
      const expected = KINDS[kind]?.(model, storeId).results ?? [];
      deepStrictEqual(
        { storeId, kind, records: follower.records },
        { storeId, kind, records: inOrder(expected.map((record) => instants(record, offset))) },
      );
    }
    return this.#followers.length;
  }
}

function inOrder(records: Fields[]): Fields[] {
  return records.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
}

/** A record whose date-times are instants: a moved offset is no change, so copies hold times in several. */
function instants(record: Fields, offset: string): Fields {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) =>
      (name.endsWith('_at') || name === 'scheduled_for') && typeof value === 'string'
        ? [name, new Date(`${value}${offset}`).toISOString()]
        : [name, value],
    ),
  );
}
