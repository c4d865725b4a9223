/**
 * Rank trees: exact counts, and any page, at the price of the first (decision 0033). A store's list
 * is cut, in its order, into leaves of a few hundred records; a node describes neighbouring leaves:
 * where each begins, and how many records it has of each facet. Nodes are described by nodes above
 * them in the same way.
 *
 *     root      in the store's stamp:             1,000,000 records, of each facet so many, 2 levels
 *     level 1   one node                          '' 26,101 · '0f3kz' 25,877 · '0f8q2' 26,012 · …
 *     level 0   nodes, up to 64 parts each        '' 112 · '0f3a1' 455 · …   '0f3kz' 431 · '0f3m7' 460 · …
 *     leaves    up to 512 records each            in the collection itself: o9321, o9320 … · o9208, o9207 …
 *
 * A part is named after its boundary, the beginning of its first key. The *rank* of a key is what
 * the parts before it add up to, in one node of each level, and a count in one leaf. A page is
 * found the other way round. A new record adds one in a node of each level; a leaf or node that
 * outgrows its bound is cut. All in the transaction that writes the records, by the projector that
 * owns the store's partition.
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
  keyField: 'rank_key' | 'created_key';
  keyIndex: string;
  faceted: boolean;
  /** Whether the texts of its leaves are stored for searches. */
  searched: boolean;
  leafRecords: number;
  /** The most bytes of texts of a leaf: every change of a record writes those of its leaf. */
  leafBytes: number;
  nodeParts: number;
  /**
   * Where new records come: before all others, as in lists that show the newest first, or anywhere.
   */
  grows: 'in front' | 'anywhere';
}

/** A list of the newest first, unless `changes` says otherwise. */
function treeOf(name: TreeName, entity: EntityName, changes: Partial<RankTree> = {}): RankTree {
  return {
    name,
    entity,
    collection: COLLECTIONS[entity],
    keyField: 'rank_key',
    keyIndex: 'by_rank',
    faceted: true,
    searched: false,
    leafRecords: 512,
    leafBytes: Number.POSITIVE_INFINITY,
    nodeParts: 64,
    grows: 'in front',
    ...changes,
  };
}

/** By name. Its leaves are also the blocks that a search reads. */
const OF_NAMES = {
  faceted: false,
  searched: true,
  leafRecords: 256,
  leafBytes: 65_536,
  grows: 'anywhere',
} as const;
const OF_CREATION = { keyField: 'created_key', keyIndex: 'by_created', faceted: false } as const;

export const RANK_TREES: Record<TreeName, RankTree> = {
  order: treeOf('order', 'order'),
  review: treeOf('review', 'review'),
  customer: treeOf('customer', 'customer', OF_NAMES),
  customer_created: treeOf('customer_created', 'customer', OF_CREATION),
};

export interface RankEntry {
  tree: TreeName;
  key: string;
  facet: string;
  texts?: SearchTexts;
}

export const RANKED_FIELDS = {
  rank_key: 1,
  created_key: 1,
  facet: 1,
  document_digits: 1,
  document_key: 1,
  phone_digits: 1,
} as const;

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
