/** All that is stored of one level of a tree, in order. */
import { RANK_NODES } from '#shared/read-models/collections.ts';
import {
  type Counts,
  type LeafTexts,
  levelPrefix,
  ofLevel,
  type RankNode,
} from '#shared/read-models/rank-tree/nodes.ts';
import { TreeNode } from './tree-node.ts';
import type { Work } from './work.ts';

export interface StoredLevel {
  /** The parts of all its nodes. */
  parts: (Counts & { boundary: string; bytes?: number })[];
  /** Where each node begins by its `_id`, and how many parts it has. */
  nodes: { boundary: string; length: number }[];
}

export async function readLevel({ db, session, tree, storeId }: Work, level: number): Promise<StoredLevel> {
  const found: StoredLevel = { parts: [], nodes: [] };
  const { length: prefix } = levelPrefix(tree.name, storeId, level);
  const stored = db
    .collection<RankNode>(RANK_NODES)
    .find(ofLevel(tree.name, storeId, level), { session, sort: { _id: 1 } });
  for await (const node of stored) {
    const { parts } = TreeNode.ofStored(level, node);
    found.parts.push(...parts);
    found.nodes.push({ boundary: node._id.slice(prefix), length: parts.length });
  }
  return found;
}

/** The texts of leaves, one after the other. */
export async function* readTexts({
  db,
  session,
  tree,
  storeId,
}: Work): AsyncGenerator<LeafTexts & { boundary: string }> {
  const { length: prefix } = levelPrefix(tree.name, storeId, 'leaf');
  const stored = db
    .collection<LeafTexts>(RANK_NODES)
    .find(ofLevel(tree.name, storeId, 'leaf'), { session, sort: { _id: 1 } });
  for await (const texts of stored) yield { ...texts, boundary: texts._id.slice(prefix) };
}
