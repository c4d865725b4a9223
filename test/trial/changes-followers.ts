/**
 * Followers of every store: of each kind's feed, and of all kinds with details. At the end the
 * copies of single kinds must equal the model's lists, and the copy of all kinds every details
 * answer.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '#test/api-client.ts';
import { Follower } from '#test/follower.ts';
import type { Model } from '#test/model.ts';
import { STREAM_STORES } from '#test/streams.ts';

const WHOLE = '/api/changes?records=whole&page_size=3';

const KINDS = [
  'order',
  'customer',
  'review',
  'campaign',
  'coupon',
  'category',
  'product',
  'option-group',
];
/** The model's name of the entity. */
const entityOf = (kind: string) => kind.replace('-', '_');

type Fields = Record<string, unknown>;

export class ChangesFollowers {
  readonly #ofKinds: { storeId: string; kind: string; follower: Follower }[];
  readonly #ofStores: { storeId: string; follower: Follower }[];

  constructor(api: ApiClient, tokens: ReadonlyMap<string, string>) {
    const follow = (storeId: string, feed: string) =>
      new Follower(
        api,
        tokens.get(storeId) ?? '',
        feed,
        (record, { timezone_offset: offset }) => instants(record, offset) as Fields,
      );
    this.#ofKinds = STREAM_STORES.flatMap((storeId) =>
      KINDS.map((kind) => ({
        storeId,
        kind,
        follower: follow(storeId, `/api/${kind}/changes?page_size=3`),
      })),
    );
    this.#ofStores = STREAM_STORES.map((storeId) => ({
      storeId,
      follower: follow(storeId, WHOLE),
    }));
  }

  /** Follows until the signal is aborted. */
  async followAlong(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      for (const { follower } of [...this.#ofStores, ...this.#ofKinds]) {
        if (over.aborted) return;
        await follower.follow();
      }
      await sleep(100);
    }
  }

  /**
   * Follows to the end and compares. @returns the number of compared copies.
   * @throws {AssertionError} at the first difference, with the store, the kind and both copies.
   */
  async compare(model: Model): Promise<number> {
    for (const { storeId, kind, follower } of this.#ofKinds) {
      await follower.follow();
      const expected = instants(recordsIn(model, storeId, kind), model.offset(storeId)) as Fields[];
      deepStrictEqual(
        { storeId, kind, records: copyOf(follower, kind) },
        { storeId, kind, records: inOrder(expected) },
      );
    }
    for (const { storeId, follower } of this.#ofStores) {
      await follower.follow();
      deepStrictEqual(
        { storeId, ...answersFrom(follower) },
        { storeId, ...(instants(answersOf(model, storeId), model.offset(storeId)) as object) },
      );
    }
    return this.#ofKinds.length + this.#ofStores.length;
  }
}

/** A follower's copy of a kind, sorted by id. */
function copyOf({ copy }: Follower, kind: string): Fields[] {
  return inOrder(
    [...copy].flatMap(([name, record]) => (name.startsWith(`${kind}/`) ? [record] : [])),
  );
}

/** The details answers, made only from a copy. */
function answersFrom(follower: Follower): Record<string, Fields[]> {
  const records = (kind: string) => copyOf(follower, kind);
  const [groups, products] = [records('option-group'), records('product')];
  return {
    ...Object.fromEntries(['store', ...KINDS].map((kind) => [kind, records(kind)])),
    category: records('category').map((category) => ({
      ...category,
      product_count: products.filter(({ category_id }) => category_id === category['id']).length,
    })),
    product: products.map(({ option_group_ids: ids, ...product }) => ({
      ...product,
      option_groups: (ids as string[]).flatMap((id) =>
        groups.filter((group) => group['id'] === id),
      ),
    })),
  };
}

/** The same from the model. */
function answersOf(model: Model, storeId: string): Record<string, Fields[]> {
  const known = (kind: string, ids: unknown[]) =>
    ids.flatMap((id): Fields[] => {
      const record = model.record(kind, storeId, String(id));
      return record === null ? [] : [record];
    });
  const answers = KINDS.map((kind): [string, Fields[]] => {
    const ids = inOrder(recordsIn(model, storeId, kind)).map(({ id }) => id);
    return [kind, known(entityOf(kind), ids)];
  });
  return { store: known('store', [storeId]), ...Object.fromEntries(answers) };
}

/** A store's records in the model, in the form of lists. */
function recordsIn(model: Model, storeId: string, kind: string): Fields[] {
  return model.list(entityOf(kind), storeId, { page_size: 100 }).results;
}

function inOrder(records: Fields[]): Fields[] {
  return records.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
}

/**
 * Date-times as instants: a moved offset is not a change, so that copies have times in several
 * offsets.
 */
function instants(value: unknown, offset: string): unknown {
  if (typeof value === 'string') {
    return /^\d{4}-\d\d-\d\dT[\d:]{8}$/.test(value)
      ? new Date(value + offset).toISOString()
      : value;
  }
  if (Array.isArray(value)) return value.map((one) => instants(one, offset));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, instants(one, offset)]),
  );
}
