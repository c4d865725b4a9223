/**
 * Followers of every store: of all kinds with details. At the end each copy must equal every details
 * answer of the model.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { pause } from '#shared/waiting.ts';
import type { ApiClient } from '#test/api-client.ts';
import { type Changes, Follower } from '#test/follower.ts';
import type { Model } from '#test/model.ts';
import { STREAM_STORES } from '#test/streams.ts';
import { words } from '#test/words.ts';

const FEED = '/api/changes?records=whole&page_size=3';
const KINDS = words('order customer review campaign coupon category product option-group');

type Fields = Record<string, unknown>;

export function startFollowers(api: ApiClient, tokens: ReadonlyMap<string, string>) {
  const followers = STREAM_STORES.map((storeId) => {
    const kept = (record: Fields, { timezone_offset: offset }: Changes) =>
      instants(record, offset) as Fields;
    return { storeId, follower: new Follower(api, tokens.get(storeId) ?? '', FEED, kept) };
  });
  const followAll = async () => {
    for (const { follower } of followers) await follower.follow();
  };
  return {
    /** Follows until the signal is aborted. */
    async followAlong(over: AbortSignal): Promise<void> {
      do await followAll();
      while (await pause(100, over));
    },
    /**
     * Follows to the end and compares. @returns the number of compared copies.
     * @throws {AssertionError} at the first difference, with the store and both copies.
     */
    async compare(model: Model): Promise<number> {
      await followAll();
      for (const { storeId, follower } of followers) {
        deepStrictEqual(
          { storeId, ...answersFrom(follower) },
          { storeId, ...(instants(answersOf(model, storeId), model.offset(storeId)) as object) },
        );
      }
      return followers.length;
    },
  };
}

/** The details answers, made only from a copy. */
function answersFrom({ copy }: Follower): Record<string, Fields[]> {
  const records = (kind: string) =>
    [...copy].flatMap(([name, record]) => (name.startsWith(`${kind}/`) ? [record] : []));
  const [groups, products] = [records('option-group'), records('product')];
  const answers: Record<string, Fields[]> = {
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
  for (const ofKind of Object.values(answers))
    ofKind.sort((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
  return answers;
}

/** The same from the model. */
function answersOf(model: Model, storeId: string): Record<string, Fields[]> {
  const known = (entity: string, ids: string[]) =>
    ids.flatMap((id): Fields[] => {
      const record = model.record(entity, storeId, id);
      return record === null ? [] : [record];
    });
  const answers = KINDS.map((kind): [string, Fields[]] => {
    const entity = kind.replace('-', '_');
    const { results } = model.list(entity, storeId, { page_size: 100 });
    return [kind, known(entity, results.map(({ id }) => String(id)).toSorted())];
  });
  return { store: known('store', [storeId]), ...Object.fromEntries(answers) };
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
