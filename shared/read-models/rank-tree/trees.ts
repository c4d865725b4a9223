/**
 * Rank trees: exact counts, and any page, at the price of the first.
 *
 * A list of a million orders can't be counted without looking at a million index keys, and its middle can't be
 * reached without passing half of them. So the projector keeps, beside the records, how many there are: it cuts a
 * store's list, in its order, into leaves of a few hundred records, and describes neighbouring leaves in a node: where each
 * begins, and how many records it has of each facet (status × type × names a customer, say). Neighbouring nodes are described by
 * a node above them in the same way, and so on up to one that describes them all.
 *
 *     root      in the store's stamp:             1,000,000 records, of each facet so many, 2 levels
 *
 *     level 1   one node                          '' 26,101 · '0f3kz' 25,877 · '0f8q2' 26,012 · …
 *                                                  │           └──────────────┐
 *     level 0   nodes, up to 64 parts each        '' 112 · '0f3a1' 455 · …   '0f3kz' 431 · '0f3m7' 460 · …
 *                                                  │         │
 *     leaves    up to 512 records each,           o9321,   o9208, o9207, o9205 …
 *               in the collection itself          o9320 …
 *
 * A part of a node is named after its boundary, the beginning of the first key that it covers; it reaches up to the next
 * boundary. The *rank* of a key (how many records come before it) is what the parts before it add up to, in one node of each
 * level, and a count in the one leaf that it cuts. A count between two keys is the difference of two ranks. A page is found the
 * other way round: add up the parts of the uppermost node until the one that holds its offset, go on in the node
 * that this part stands for, and skip the rest inside a leaf. So both cost one small document a level and at most one leaf, wherever
 * they lie and whatever they are filtered by; ten million orders have three levels.
 *
 * Writing is as cheap: a new order adds one in a node of each level and in the root, and what a slice changes in a
 * node is one write. A leaf that outgrows its bound is cut in two at its middle record, not at some calendar
 * hour: a store with a hundred thousand orders in one second has as flat a tree as any other. Where a leaf's texts are kept, they have
 * a bound in bytes as well. A node that outgrows its own is divided, and the uppermost gets one above it. Everything happens in the
 * transaction that writes the records, by the one projector that owns the store's partition.
 */
import type { EntityName } from '../../events/entities.ts';
import { COLLECTIONS, type Documents } from '../collections.ts';
import { type SearchTexts, searchTexts } from '../search-texts.ts';
import { ANY } from './keys.ts';
import type { TreeName } from './nodes.ts';

export interface RankTree {
  name: TreeName;
  entity: EntityName;
  collection: string;
  /** The documents' field that holds the sort key, and the index on store and key. */
  keyField: 'rank_key' | 'created_key';
  keyIndex: string;
  faceted: boolean;
  /** Whether what a search compares is kept of its leaves. */
  searched: boolean;
  leafRecords: number;
  /** So is one with more bytes of texts, in the tree that is searched: every change of a record writes those of its leaf. */
  leafBytes: number;
  nodeParts: number;
  /** Where new records come: before all others, as in lists that show the newest first, or anywhere. */
  grows: 'in front' | 'anywhere';
}

/** A list of the newest first. */
const TREE: Omit<RankTree, 'name' | 'entity' | 'collection'> = {
  keyField: 'rank_key',
  keyIndex: 'by_rank',
  faceted: true,
  searched: false,
  leafRecords: 512,
  leafBytes: Number.POSITIVE_INFINITY,
  nodeParts: 64,
  grows: 'in front',
};

export const RANK_TREES: Record<TreeName, RankTree> = {
  order: { ...TREE, name: 'order', entity: 'order', collection: COLLECTIONS.order },
  review: { ...TREE, name: 'review', entity: 'review', collection: COLLECTIONS.review },
  /** By name; its leaves are at the same time the blocks that a search reads. */
  customer: {
    ...TREE,
    name: 'customer',
    entity: 'customer',
    collection: COLLECTIONS.customer,
    faceted: false,
    searched: true,
    leafRecords: 256,
    leafBytes: 65_536,
    grows: 'anywhere',
  },
  /** By creation: how many customers a range of time holds. */
  customer_created: {
    ...TREE,
    name: 'customer_created',
    entity: 'customer',
    collection: COLLECTIONS.customer,
    keyField: 'created_key',
    keyIndex: 'by_created',
    faceted: false,
  },
};

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
