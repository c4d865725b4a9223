/**
 * Rank trees: exact counts, and any page, at the price of the first.
 *
 * A list of a million orders can't be counted without looking at a million index keys, and its middle can't be
 * reached without passing half of them. So the projector keeps, beside the records, how many there are: it cuts a
 * store's list, in its order, into leaves of a few hundred records, gathers leaves into branches, and branches under
 * the root, and each node knows how many records it covers, of each facet (status × type × names a customer, say).
 *
 *     root     in the store's stamp                  1,000,000 records, of each facet so many
 *                │
 *     branches   ''  70,301      '0f3kz' 69,877      '0f8q2' …              some dozens
 *                │                 │
 *     leaves     '' 112  '0f3a1' 455  '0f3a9' 460 …   '0f3kz' 431 …         up to 128 a branch
 *                │
 *     records    o9321, o9320, o9318 …                                      up to 512 a leaf, in the collection itself
 *
 * A node is named after its boundary, the beginning of the first key that it covers; it reaches up to the next
 * boundary of its level. The *rank* of a key (how many records come before it) is what the branches, then the leaves
 * before it add up to, and a count in the one leaf that it cuts. A count between two keys is the difference of two ranks. A page is found the
 * other way round: add up branches until the one that holds its offset, then leaves, and skip the rest inside
 * that leaf. So both cost a hundred small documents and at most one leaf, wherever they lie and whatever they are filtered by.
 *
 * Writing is as cheap: a new order adds one to its leaf, its branch and the root, and the changes of a slice to the
 * same node are one update. A leaf that outgrows its bound is cut in two at its middle record, not at some calendar
 * hour: a store with a hundred thousand orders in one second has as flat a tree as any other. Everything happens in the
 * transaction that writes the records, by the one projector that owns the store's partition.
 */
import type { EntityName } from '../../events/entities/index.ts';
import { COLLECTIONS, type Documents } from '../collections.ts';
import { type SearchTexts, searchTexts } from '../search-texts.ts';
import { ANY } from './facets.ts';

export type TreeName = 'order' | 'review' | 'customer' | 'customer_created';

export interface RankTree {
  name: TreeName;
  entity: EntityName;
  collection: string;
  /** The documents' field that holds the sort key, and the index on store and key. */
  keyField: 'rank_key' | 'created_key';
  keyIndex: string;
  /** Whether the documents have a facet; the index on store, facet and key is then `by_facet`. */
  faceted: boolean;
  /** Whether its leaves hold what a search compares. */
  searched: boolean;
  /** A leaf with more records is cut. */
  leafRecords: number;
  /** Branches are gathered anew when one has more leaves. */
  branchLeaves: number;
  /** Where new records come: before all others, as in lists that show the newest first, or anywhere. */
  grows: 'in front' | 'anywhere';
}

export const RANK_TREES: Record<TreeName, RankTree> = {
  order: {
    name: 'order',
    entity: 'order',
    collection: COLLECTIONS.order,
    keyField: 'rank_key',
    keyIndex: 'by_rank',
    faceted: true,
    searched: false,
    leafRecords: 512,
    branchLeaves: 128,
    grows: 'in front',
  },
  review: {
    name: 'review',
    entity: 'review',
    collection: COLLECTIONS.review,
    keyField: 'rank_key',
    keyIndex: 'by_rank',
    faceted: true,
    searched: false,
    leafRecords: 512,
    branchLeaves: 128,
    grows: 'in front',
  },
  /** By name; its leaves are at the same time the blocks that a search reads. */
  customer: {
    name: 'customer',
    entity: 'customer',
    collection: COLLECTIONS.customer,
    keyField: 'rank_key',
    keyIndex: 'by_rank',
    faceted: false,
    searched: true,
    leafRecords: 256,
    branchLeaves: 128,
    grows: 'anywhere',
  },
  /** By creation: how many customers a range of time holds. */
  customer_created: {
    name: 'customer_created',
    entity: 'customer',
    collection: COLLECTIONS.customer,
    keyField: 'created_key',
    keyIndex: 'by_created',
    faceted: false,
    searched: false,
    leafRecords: 512,
    branchLeaves: 128,
    grows: 'in front',
  },
};

/** A record's place in a tree. */
export interface RankEntry {
  tree: TreeName;
  key: string;
  facet: string;
  /** The record's pieces of its leaf's texts, in the tree that is searched. */
  texts?: SearchTexts;
}

/** Fields of documents that trees are kept by. */
export const RANKED_FIELDS = {
  rank_key: 1,
  created_key: 1,
  facet: 1,
  document_digits: 1,
  document_key: 1,
  phone_digits: 1,
} as const;

/** A document's places, from the fields that `RANKED_FIELDS` names; none for entities without trees. */
export function rankEntries(entity: EntityName, document: object): RankEntry[] {
  if (entity === 'order' || entity === 'review') {
    const { rank_key: key, facet } = document as Documents['order' | 'review'];
    return [{ tree: entity, key, facet }];
  }
  if (entity === 'customer') {
    const customer = document as Documents['customer'];
    return [
      { tree: 'customer', key: customer.rank_key, facet: ANY, texts: searchTexts(customer) },
      { tree: 'customer_created', key: customer.created_key, facet: ANY },
    ];
  }
  return [];
}
