/** Changing one tree: what comes and goes is counted in its nodes, and leaves and nodes that outgrow their bounds are cut. */
import { RANK_NODES } from '../../read-models/collections.ts';
import { nodesOf, type RankNode, type Root } from '../../read-models/rank-tree/nodes.ts';
import type { TreeChange } from './changes.ts';
import { changeLeaves, isNamedAcross, type Touched } from './change-leaves.ts';
import type { LoadedTree, Place } from './loaded-tree.ts';
import { loadTree } from './load.ts';
import { plantTree } from './plant.ts';
import type { Share, TextOperations } from './texts.ts';
import type { TreeNode } from './tree-node.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/**
 * Changes a tree, whose `root` was that before, in memory.
 * @param texts gets the writes of leaves' texts.
 * @returns `null` while it has too few records for leaves.
 */
export async function changeTree(
  transaction: TreeTransaction,
  change: TreeChange,
  root: Root,
  texts: TextOperations,
  cached: LoadedTree | null,
): Promise<LoadedTree | null> {
  const { tree } = transaction;
  if (root.leaves === undefined) {
    const before = Object.values(root.counts ?? {}).reduce((sum, count) => sum + count, 0);
    if (before + change.added.length - change.removed.length <= tree.leafRecords) return null;
    return makeAnew(transaction);
  }
  const keys = new Set([...change.added, ...change.removed].map(({ key }) => key));
  const loaded = await loadTree(transaction, root, keys, cached);
  if (loaded === null) return makeAnew(transaction);

  const touched = countIn(loaded, change);
  if (tree.searched && touched.some((place) => isNamedAcross(place))) return makeAnew(transaction);
  for (const place of touched) loaded.leaves += await changeLeaves(transaction, place, texts);
  loaded.divideCrowded(tree);
  return loaded;
}

/** Adds up what comes and goes, all the way down to the leaves. */
function countIn(loaded: LoadedTree, { added, removed }: TreeChange): Touched[] {
  const touched = new Map<TreeNode, Touched>();
  const shareOf = (place: Place | null): Share | null => {
    if (place === null) return null;
    const { node, leaf, end } = place;
    let inNode = touched.get(node);
    if (inNode === undefined) touched.set(node, (inNode = { node, end, shares: new Map() }));
    let share = inNode.shares.get(leaf);
    if (share === undefined) inNode.shares.set(leaf, (share = { added: [], removed: [] }));
    return share;
  };
  for (const entry of added) shareOf(loaded.count(entry, 1))?.added.push(entry);
  for (const entry of removed) shareOf(loaded.count(entry, -1))?.removed.push(entry);
  return [...touched.values()];
}

/** Makes a tree of all records: where it had no leaves or was damaged, or a leaf must join the one before it in another node. */
async function makeAnew(transaction: TreeTransaction): Promise<LoadedTree> {
  const { db, session, tree, storeId } = transaction;
  await db.collection<RankNode>(RANK_NODES).deleteMany(nodesOf(tree.name, storeId), { session });
  return plantTree(transaction);
}
