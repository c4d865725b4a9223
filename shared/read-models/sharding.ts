/**
 * The shard keys and zones on a sharded cluster (`docs/sharding.md`). All that one slice writes belongs to one partition of the log:
 * checkpoint, dead letters, and documents of its stores. So a zone is a partition, and the transaction of a slice stays on one shard.
 */
import { MaxKey, MinKey } from 'mongodb';
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

export interface Sharding {
  key: ShardKey;
  /** Which part of an `_id` names the store or partition that owns the document; `null` where documents have no owner. */
  owner: {
    is: 'store' | 'partition';
    place: 0 | 1;
    /** Possible parts before it. */ before?: readonly string[];
  } | null;
}

/** For collections that are read by indexes of the store: a store is one range, and can be split. */
const BY_STORE: Sharding = { key: { store_id: 1, _id: 1 }, owner: { is: 'store', place: 0 } };
const BY_ID: Sharding = { key: { _id: 1 }, owner: { is: 'store', place: 0 } };

export const SHARDING: Record<CollectionName | 'generation', Sharding> = {
  [COLLECTIONS.store]: BY_ID,
  [COLLECTIONS.coupon]: BY_STORE,
  [COLLECTIONS.customer]: BY_STORE,
  [COLLECTIONS.review]: BY_STORE,
  [COLLECTIONS.campaign]: BY_STORE,
  [COLLECTIONS.order]: BY_STORE,
  [COLLECTIONS.category]: BY_STORE,
  [COLLECTIONS.product]: BY_STORE,
  [COLLECTIONS.option_group]: BY_STORE,
  [TOMBSTONES]: { key: { store_id: 1, _id: 1 }, owner: { is: 'store', place: 1 } },
  [CATEGORY_PRODUCTS]: BY_ID,
  [STAMPS]: BY_ID,
  [RANK_NODES]: {
    key: { _id: 1 },
    owner: { is: 'store', place: 1, before: Object.values(RANK_TREES).map(({ name }) => name) },
  },
  [STORE_RECORDS_PENDING]: BY_ID,
  [ERASURES]: BY_ID,
  [REWRITINGS]: BY_ID,
  [DEAD_LETTERS]: { key: { _id: 1 }, owner: { is: 'partition', place: 1 } },
  [CHECKPOINTS]: { key: { _id: 1 }, owner: { is: 'partition', place: 1 } },
  generation: { key: { _id: 1 }, owner: null },
};

const UNOWNED: Sharding = { key: { _id: 1 }, owner: null };

/** The control database. Nothing there belongs to a zone: it is small, and MongoDB leaves all of it on one shard. */
export const CONTROL_SHARDING: Record<string, Sharding> = {
  access_keys: UNOWNED,
  store_access: UNOWNED,
  revoked_sessions: UNOWNED,
  // Their ids rise with the time: a range would take all writes.
  audit: { key: { _id: 'hashed' }, owner: null },
  access_announcements: UNOWNED,
  dropped_letters: UNOWNED,
  skipped_batches: UNOWNED,
  generations: UNOWNED,
  [DEAD_LETTERS]: UNOWNED,
  [CHECKPOINTS]: UNOWNED,
};

export interface ShardRange {
  min: Record<string, unknown>;
  max: Record<string, unknown>;
}

export function rangesOfStore(name: keyof typeof SHARDING, storeId: string): ShardRange[] {
  const { key, owner } = SHARDING[name];
  if (owner?.is !== 'store') return [];
  if ('store_id' in key) {
    return [{ min: { store_id: storeId, _id: new MinKey() }, max: { store_id: storeId, _id: new MaxKey() } }];
  }
  // No id holds a character that comes before "-".
  if (name === STAMPS) return [{ min: { _id: storeId }, max: { _id: `${storeId}-` } }];
  const { before } = owner;
  return (before?.map((part) => `${part}/${storeId}`) ?? [storeId]).map(beginningWith);
}

export function rangesOfPartition(name: keyof typeof SHARDING, topic: string, partition: number): ShardRange[] {
  if (SHARDING[name].owner?.is !== 'partition') return [];
  const id = `${topic}/${partition}`;
  return name === CHECKPOINTS ? [{ min: { _id: id }, max: { _id: `${id}/` } }] : [beginningWith(id)];
}

function beginningWith(parts: string): ShardRange {
  const { $gte, $lt } = idsBelow(parts);
  return { min: { _id: $gte }, max: { _id: $lt } };
}
