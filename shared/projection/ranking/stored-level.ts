/** All that is stored of one level of a tree, in order, and what lies there beside its levels. */
import type { Document } from 'mongodb';
import { RANK_NODES } from '../../read-models/collections.ts';
import {
  anyOf,
  anyOfLevel,
  type Counts,
  type LeafTexts,
  levelPrefix,
  type RankNode,
} from '../../read-models/rank-tree/nodes.ts';
import { damageOf, deviationOf } from './node-shape.ts';
import { TreeNode } from './tree-node.ts';
import type { TreeTransaction } from './tree-transaction.ts';

export interface StoredLevel {
  /** The parts of all its nodes. */
  parts: (Counts & { boundary: string; bytes?: number })[];
  /** Where each node begins by its `_id`, and how many parts it has. */
  nodes: { boundary: string; length: number }[];
  /** What is wrong with nodes that are not as they would be written. */
  damages: string[];
  /** Whether some of them cannot be read: what the level covers is not known then. */
  isIncomplete: boolean;
}

export async function readLevel(
  { db, session, tree, storeId }: TreeTransaction,
  level: number,
): Promise<StoredLevel> {
  const found: StoredLevel = { parts: [], nodes: [], damages: [], isIncomplete: false };
  const { length: prefix } = levelPrefix(tree.name, storeId, level);
  const stored = db
    .collection<RankNode>(RANK_NODES)
    .find(anyOfLevel(tree.name, storeId, level), { session, sort: { _id: 1 } });
  for await (const node of stored) {
    const boundary = node._id.slice(prefix);
    const damage = damageOf(node);
    const wrong = damage ?? deviationOf(node, storeId, boundary, tree.searched && level === 0);
    if (wrong !== null) found.damages.push(wrong);
    if (damage !== null) {
      found.isIncomplete = true;
      continue;
    }
    const { parts } = TreeNode.ofStored(level, node);
    found.parts.push(...parts);
    found.nodes.push({ boundary, length: parts.length });
  }
  return found;
}

/** The texts of leaves, one after the other, however damaged. */
export async function* readTexts({ db, session, tree, storeId }: TreeTransaction): AsyncGenerator<{
  stored: LeafTexts;
  boundary: string;
}> {
  const { length: prefix } = levelPrefix(tree.name, storeId, 'leaf');
  const texts = db
    .collection<LeafTexts>(RANK_NODES)
    .find(anyOfLevel(tree.name, storeId, 'leaf'), { session, sort: { _id: 1 } });
  for await (const stored of texts) yield { stored, boundary: stored._id.slice(prefix) };
}

/** How many nodes are stored of levels that a tree with so many does not have. */
export async function countStrays(
  { db, session, tree, storeId }: TreeTransaction,
  levels: number,
): Promise<number> {
  const has = Array.from({ length: levels }, (_, level) => String(level));
  if (tree.searched && levels > 0) has.push('leaf');
  const level = { $arrayElemAt: [{ $split: ['$_id', '/'] }, LEVEL_IN_ID] };
  const stages: Document[] = [
    { $match: anyOf(tree.name, storeId) },
    { $project: { level } },
    { $match: { level: { $nin: has } } },
    { $count: 'count' },
  ];
  const [row] = await db
    .collection<RankNode>(RANK_NODES)
    .aggregate<{ count: number }>(stages, { session })
    .toArray();
  return row?.count ?? 0;
}

/** `<tree>/<store id>/<level>/…` */
const LEVEL_IN_ID = 2;
