/** The lists, each with its strategies in the order in which they are tried. */
import { RANK_TREES, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import {
  cachedLayout,
  layoutUpdated,
  ownLayout,
  placeStages,
  SEGMENT_INDEX,
  WITHIN_CATEGORY,
} from './products.ts';
import type { List } from './request.ts';
import { firstPages, rankTree, scan, scanIfShown, scanIfSmall, sharedFirstPage } from './scans.ts';
import { searchLeaves } from './search.ts';
import {
  createdByName,
  createdWindow,
  updatedAmongFew,
  updatedInLong,
  updatedWindow,
} from './windows.ts';

/** The order of a rank tree. */
function inOrderOf(tree: RankTree) {
  const { entity, keyField, keyIndex: index } = tree;
  return { tree, entity, sort: { [keyField]: 1 }, index } as const;
}

/** By time of creation, the newest first. */
function newestFirst(tree: RankTree) {
  return { ...inOrderOf(tree), creation: tree, facetIndex: 'by_facet' };
}

/** Lists that stay short. */
const SHORT = [sharedFirstPage, scan];
const SHORT_NEWEST_FIRST = {
  sort: { created_at: -1, _id: 1 },
  index: 'by_created',
  strategies: SHORT,
} as const;

const ORDERS = newestFirst(RANK_TREES.order);

export const LISTS = {
  campaign: { entity: 'campaign', ...SHORT_NEWEST_FIRST },
  category: {
    entity: 'category',
    sort: { position: 1, name: 1, _id: 1 },
    index: 'by_position',
    strategies: SHORT,
  },
  coupon: { entity: 'coupon', ...SHORT_NEWEST_FIRST },
  customer: {
    ...inOrderOf(RANK_TREES.customer),
    creation: RANK_TREES.customer_created,
    strategies: [
      sharedFirstPage,
      firstPages,
      rankTree,
      searchLeaves,
      updatedWindow,
      createdWindow,
      updatedInLong,
      createdByName,
      scanIfShown,
      scan,
    ],
  },
  option_group: {
    entity: 'option_group',
    sort: { name_key: 1, _id: 1 },
    index: 'by_name',
    strategies: SHORT,
  },
  order: {
    ...ORDERS,
    strategies: [
      sharedFirstPage,
      firstPages,
      scanIfSmall,
      rankTree,
      updatedAmongFew,
      updatedWindow,
      updatedInLong,
      scanIfShown,
      scan,
    ],
  },
  ordersOfCustomer: {
    ...ORDERS,
    index: 'by_customer',
    facetIndex: 'by_customer_facet',
    isSelective: true,
    strategies: [updatedAmongFew, updatedWindow, updatedInLong, scanIfShown, scan],
  },
  product: {
    entity: 'product',
    sort: { place: 1, ...WITHIN_CATEGORY },
    index: SEGMENT_INDEX,
    sortKey: placeStages,
    strategies: [cachedLayout, ownLayout, updatedWindow, layoutUpdated, scan],
  },
  productsOfCategory: {
    entity: 'product',
    sort: WITHIN_CATEGORY,
    index: SEGMENT_INDEX,
    isSelective: true,
    strategies: [updatedAmongFew, updatedWindow, scan],
  },
  review: {
    ...newestFirst(RANK_TREES.review),
    strategies: [sharedFirstPage, firstPages, scanIfSmall, rankTree, scanIfShown, scan],
  },
} satisfies Record<string, List>;
