/**
 * The shard key of each collection on a sharded cluster (`docs/sharding.md`), and the documents of
 * one store in it.
 */
import type { Filter } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  CHECKPOINTS,
  type CollectionName,
  COLLECTIONS,
  DEAD_LETTERS,
  ERASURES,
  RANK_NODES,
  REWRITINGS,
  STAMPS,
  STORE_RECORDS_PENDING,
  TOMBSTONES,
} from './collections.ts';
import { idsBelow } from './rank-tree/keys.ts';
import { RANK_TREES } from './rank-tree/trees.ts';

/** Either needs no unique index but that of `_id`, which every key ends with. */
export type ShardKey = { store_id: 1; _id: 1 } | { _id: 1 } | { _id: 'hashed' };

/** For collections that are read by indexes of the store: a large store can be split. */
const BY_STORE = { store_id: 1, _id: 1 } as const;
const BY_ID = { _id: 1 } as const;

export const SHARDING: Record<CollectionName | 'generation', ShardKey> = {
  [COLLECTIONS.store]: BY_ID,
  [COLLECTIONS.coupon]: BY_STORE,
  [COLLECTIONS.customer]: BY_STORE,
  [COLLECTIONS.review]: BY_STORE,
  [COLLECTIONS.campaign]: BY_STORE,
  [COLLECTIONS.order]: BY_STORE,
  [COLLECTIONS.category]: BY_STORE,
  [COLLECTIONS.product]: BY_STORE,
  [COLLECTIONS.option_group]: BY_STORE,
  [TOMBSTONES]: BY_STORE,
  [CATEGORY_PRODUCTS]: BY_ID,
  [STAMPS]: BY_ID,
  [RANK_NODES]: BY_ID,
  [STORE_RECORDS_PENDING]: BY_ID,
  [ERASURES]: BY_ID,
  [REWRITINGS]: BY_ID,
  [DEAD_LETTERS]: BY_ID,
  [CHECKPOINTS]: BY_ID,
  generation: BY_ID,
};

export const CONTROL_SHARDING: Record<string, ShardKey> = {
  access_keys: BY_ID,
  store_access: BY_ID,
  revoked_sessions: BY_ID,
  // Their ids rise with the time: a range would take all writes.
  audit: { _id: 'hashed' },
  dropped_letters: BY_ID,
  generations: BY_ID,
  [DEAD_LETTERS]: BY_ID,
  [CHECKPOINTS]: BY_ID,
};

export interface OfStore {
  _id: string;
  store_id?: string;
}

/** Finds a store's documents by the shard key, in a collection whose documents belong to stores. */
export function ofStore(name: CollectionName, storeId: string): Filter<OfStore> {
  if ('store_id' in SHARDING[name]) return { store_id: storeId };
  if (name === STAMPS) return { _id: storeId };
  const parts =
    name === RANK_NODES
      ? Object.values(RANK_TREES).map((tree) => `${tree.name}/${storeId}`)
      : [storeId];
  return { $or: parts.map((part) => ({ _id: idsBelow(part) })) };
}
