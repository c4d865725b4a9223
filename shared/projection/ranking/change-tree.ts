/** Changing one tree: what comes and goes is counted in its nodes, and leaves and nodes that outgrow their bounds are cut. */
import { type Between, nodesOf, ofLevel, type Root } from '../../read-models/rank-tree/nodes.ts';
import type { TreeChange } from './changes.ts';
import { cutLeaves } from './split.ts';
import { changeLeaves, isNamedAcross, type Touched, withoutTexts } from './change-leaves.ts';
import { LoadedTree, type Place } from './loaded-tree.ts';
import { loadAll, loadTree } from './load.ts';
import { readRecords } from './members.ts';
import { replaceTexts, type Share, type TextOperations } from './texts.ts';
import { TreeNode } from './tree-node.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** What is to be written beside the nodes that are changed in memory. */
export interface Aside {
  texts: TextOperations;
  /** Of what else is stored, all of this goes. */
  removed: Between[];
}

/** Changes a tree, whose `root` was that before, in memory. @returns `null` while it has too few records for leaves. */
export async function changeTree(
  transaction: TreeTransaction,
  change: TreeChange,
  root: Root,
  aside: Aside,
  cached: LoadedTree | null,
): Promise<LoadedTree | null> {
  const { tree } = transaction;
  if (root.leaves === undefined) {
    const before = Object.values(root.counts ?? {}).reduce((sum, count) => sum + count, 0);
    if (before + change.added.length - change.removed.length <= tree.leafRecords) return null;
    return makeAnew(transaction, aside);
  }
  const keys = new Set([...change.added, ...change.removed].map(({ key }) => key));
  const loaded = await loadTree(transaction, root, keys, cached);
  if (loaded === null) return makeAnew(transaction, aside);

  const touched = countIn(loaded, change);
  if (tree.searched && touched.some((place) => isNamedAcross(place))) {
    return (await loadAll(transaction, loaded))
      ? gatherAnew(transaction, loaded, touched, aside)
      : makeAnew(transaction, aside);
  }
  for (const place of touched) loaded.leaves += await changeLeaves(transaction, place, aside.texts);
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

/** Changes leaves of the whole tree and puts nodes together anew: where a leaf joins the one before it that another node describes. */
async function gatherAnew(
  transaction: TreeTransaction,
  loaded: LoadedTree,
  touched: readonly Touched[],
  aside: Aside,
): Promise<LoadedTree> {
  const node = TreeNode.new(0, loaded.allLeaves());
  const shares = new Map(touched.flatMap((place) => [...place.shares]));
  await changeLeaves(transaction, { node, end: null, shares }, aside.texts);
  for (let level = 0; level < loaded.levels; level += 1) {
    aside.removed.push(ofLevel(transaction.tree.name, transaction.storeId, level));
  }
  return LoadedTree.of(transaction.tree, node.parts);
}

/** Makes a tree of all records: where it had no leaves, or was damaged. */
async function makeAnew(transaction: TreeTransaction, aside: Aside): Promise<LoadedTree> {
  const leaves = cutLeaves(transaction.tree, '', await readRecords(transaction, '', null));
  aside.texts.push(...leaves.flatMap((leaf) => replaceTexts(transaction, leaf)));
  aside.removed.push(nodesOf(transaction.tree.name, transaction.storeId));
  return LoadedTree.of(
    transaction.tree,
    leaves.map((leaf) => withoutTexts(leaf)),
  );
}
