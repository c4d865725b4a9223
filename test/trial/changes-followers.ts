/**
 * Followers of every store: of each kind's feed, and of all kinds with details. At the end the
 * copies of single kinds must equal the model's lists, and the copy of all kinds every details
 * answer.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { pause } from '#shared/waiting.ts';
import type { ApiClient } from '#test/api-client.ts';
import { Follower } from '#test/follower.ts';
import type { Model } from '#test/model.ts';
import { STREAM_STORES } from '#test/streams.ts';
import { words } from '#test/words.ts';

const KINDS = words('order customer review campaign coupon category product option-group');
/** The model's name of the entity. */
const entityOf = (kind: string) => kind.replace('-', '_');

type Fields = Record<string, unknown>;

/** Compares a follower's copy with the model. */
interface Followed {
  storeId: string;
  feed: string;
  follower: Follower;
  copied: (follower: Follower) => unknown;
  expected: (model: Model) => unknown;
}

export class ChangesFollowers {
  readonly #followed: Followed[];

  constructor(api: ApiClient, tokens: ReadonlyMap<string, string>) {
    const follow = (
      storeId: string,
      feed: string,
    ): Pick<Followed, 'storeId' | 'feed' | 'follower'> => {
      const follower = new Follower(
        api,
        tokens.get(storeId) ?? '',
        `${feed}page_size=3`,
        (record, { timezone_offset: offset }) => instants(record, offset) as Fields,
      );
      return { storeId, feed, follower };
    };
    this.#followed = STREAM_STORES.flatMap((storeId) => [
      {
        ...follow(storeId, '/api/changes?records=whole&'),
        copied: answersFrom,
        expected: (model) => answersOf(model, storeId),
      },
      ...KINDS.map((kind): Followed => ({
        ...follow(storeId, `/api/${kind}/changes?`),
        copied: (follower) => copyOf(follower, kind),
        expected: (model) => inOrder(recordsIn(model, storeId, kind)),
      })),
    ]);
  }

  /** Follows until the signal is aborted. */
  async followAlong(over: AbortSignal): Promise<void> {
    do {
      for (const { follower } of this.#followed) if (!over.aborted) await follower.follow();
    } while (await pause(100, over));
  }

  /**
   * Follows to the end and compares. @returns the number of compared copies.
   * @throws {AssertionError} at the first difference, with the store, the feed and both copies.
   */
  async compare(model: Model): Promise<number> {
    for (const { storeId, feed, follower, copied, expected } of this.#followed) {
      await follower.follow();
      const is = copied(follower);
      const should = instants(expected(model), model.offset(storeId));
      deepStrictEqual({ storeId, feed, copy: is }, { storeId, feed, copy: should });
    }
    return this.#followed.length;
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
