/**
 * Followers of every store: of all kinds with details. At the end each copy must equal every details
 * answer of the model.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { pause } from '#shared/waiting.ts';
import type { ApiClient } from '#test/api-client.ts';
import { type Changes, Follower } from '#test/follower.ts';
import type { Model } from '#test/model.ts';
import { STREAM_IDS, STREAM_STORES } from '#test/streams.ts';

const FEED = '/api/changes?records=whole&page_size=3';

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

/** The details answers, made only from a copy, by kind and id. */
function answersFrom({ copy }: Follower): Fields {
  const records = [...copy];
  const answerTo = (name: string, record: Fields): Fields => {
    if (name.startsWith('category/')) {
      const products = records.filter(
        ([other, { category_id }]) => other.startsWith('product/') && category_id === record['id'],
      );
      return { ...record, product_count: products.length };
    }
    if (!name.startsWith('product/')) return record;
    const { option_group_ids: ids, ...product } = record;
    const option_groups = (ids as string[]).flatMap((id) => copy.get(`option-group/${id}`) ?? []);
    return { ...product, option_groups };
  };
  return Object.fromEntries(records.map(([name, record]) => [name, answerTo(name, record)]));
}

/** The same from the model. */
function answersOf(model: Model, storeId: string): Fields {
  const ids = Object.entries({ ...STREAM_IDS, store: [storeId] });
  return Object.fromEntries(
    ids.flatMap(([entity, ofEntity]) =>
      ofEntity.flatMap((id) => {
        const record = model.record(entity, storeId, id);
        return record === null ? [] : [[`${entity.replace('_', '-')}/${id}`, record]];
      }),
    ),
  );
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
