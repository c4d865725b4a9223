/**
 * Compares a store's counts, rank trees and feed positions with its records, counted one by one. Everything is
 * read in one snapshot, so that it can be done beside a projector at work.
 */
import type { ClientSession, Db } from 'mongodb';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  type Stamp,
  STAMPS,
} from '../../read-models/collections.ts';
import { countByCategory, countsOf } from '../pipeline/layouts.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { findDamagedPositions, verifyPositions } from './positions.ts';
import { verifyErasures } from '../erasure/queue.ts';
import { countStore, verifyStamp } from './stamp.ts';
import { type Compare, verifyTree } from './tree.ts';

export interface Difference {
  storeId: string;
  /** What differs: a count of the stamp, a root, a node by its level and place. It never holds a key, which may be a name. */
  what: string;
  stored: string;
  counted: string;
}

/** Counts a store's records. @param session one with a snapshot. */
export async function verifyStore(db: Db, session: ClientSession, storeId: string): Promise<Difference[]> {
  const stamp = await db.collection<Stamp>(STAMPS).findOne({ _id: storeId }, { session });
  const differences: Difference[] = [];
  const compare: Compare = (what, stored, counted) => {
    if (stored !== counted) differences.push({ storeId, what, stored: `${stored}`, counted: `${counted}` });
  };
  verifyStamp(stamp, await countStore(db, session, storeId), compare);
  const stored = await db
    .collection<CategoryProducts>(CATEGORY_PRODUCTS)
    .find(countsOf(storeId), { session, batchSize: 10_000 })
    .toArray();
  const named = new Map(stored.map(({ _id, products }) => [_id, products]));
  const counted = await countByCategory(db, session, storeId);
  for (const id of new Set([...named.keys(), ...counted.keys()])) {
    const category = id.slice(storeId.length + 1);
    const what = category === '' ? 'products without a category' : `products of category ${category}`;
    compare(`number of ${what}`, named.get(id) ?? 0, counted.get(id) ?? 0);
  }
  for (const tree of Object.values(RANK_TREES)) {
    await verifyTree({ db, session, tree, storeId }, stamp, (what, ...values) =>
      compare(`${tree.name} tree: ${what}`, ...values),
    );
  }
  verifyPositions(await findDamagedPositions(db, session, storeId), compare);
  await verifyErasures(db, session, storeId, stamp, compare);
  return differences;
}
