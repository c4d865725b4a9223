/** Changing one tree: what comes and goes is counted in its nodes, and leaves and nodes that outgrow their bounds are cut. */
import { type Between, nodesOf, ofLevel, type Root } from '../../read-models/rank-tree/nodes.ts';
import type { TreeChange } from './changes.ts';
import { cutLeaves } from './split.ts';
import { changeLeaves, isNamedAcross, type Touched, withoutTexts } from './change-leaves.ts';
import { HeldTree, type Place } from './loaded-tree.ts';
import { loadAll, loadTree } from './load.ts';
import { readRecords } from './members.ts';
import { replaceTexts, type Share, type TextOperations } from './texts.ts';
import { TreeNode } from './tree-node.ts';
import type { Work } from './tree-transaction.ts';

/** What is to be written beside the nodes that are changed in memory. */
export interface Aside {
  texts: TextOperations;
  /** Of what else is stored, all of this goes. */
  removed: Between[];
}

/**
 * Changes a tree in memory.
 * @param root how it was before.
 * @returns `null` while its records are too few to need leaves.
 */
export async function changeTree(
  work: Work,
  change: TreeChange,
  root: Root,
  aside: Aside,
): Promise<HeldTree | null> {
  const { tree } = work;
  if (root.leaves === undefined) {
    const before = Object.values(root.counts ?? {}).reduce((sum, count) => sum + count, 0);
    if (before + change.added.length - change.removed.length <= tree.leafRecords) return null;
    return makeAnew(work, aside);
  }
  const keys = new Set([...change.added, ...change.removed].map(({ key }) => key));
  const held = await loadTree(work, root, keys);
  if (held === null) return makeAnew(work, aside);

  const touched = countIn(held, change);
  if (tree.searched && touched.some((place) => isNamedAcross(place))) {
    return (await loadAll(work, held)) ? gatherAnew(work, held, touched, aside) : makeAnew(work, aside);
  }
  for (const place of touched) held.leaves += await changeLeaves(work, place, aside.texts);
  held.divideCrowded(tree);
  return held;
}

/** Adds up what comes and goes, all the way down to the leaves. */
function countIn(held: HeldTree, { added, removed }: TreeChange): Touched[] {
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
  for (const entry of added) shareOf(held.count(entry, 1))?.added.push(entry);
  for (const entry of removed) shareOf(held.count(entry, -1))?.removed.push(entry);
  return [...touched.values()];
}

/** Changes leaves of the whole tree and puts nodes together anew: where a leaf joins the one before it that another node describes. */
async function gatherAnew(
  work: Work,
  held: HeldTree,
  touched: readonly Touched[],
  aside: Aside,
): Promise<HeldTree> {
  const node = TreeNode.new(0, held.allLeaves());
  const shares = new Map(touched.flatMap((place) => [...place.shares]));
  await changeLeaves(work, { node, end: null, shares }, aside.texts);
  for (let level = 0; level < held.levels; level += 1) {
    aside.removed.push(ofLevel(work.tree.name, work.storeId, level));
  }
  return HeldTree.of(work.tree, node.parts);
}

/** Makes a tree of all records: where it had no leaves, or was damaged. */
async function makeAnew(work: Work, aside: Aside): Promise<HeldTree> {
  const leaves = cutLeaves(work.tree, '', await readRecords(work, '', null));
  aside.texts.push(...leaves.flatMap((leaf) => replaceTexts(work, leaf)));
  aside.removed.push(nodesOf(work.tree.name, work.storeId));
  return HeldTree.of(
    work.tree,
    leaves.map((leaf) => withoutTexts(leaf)),
  );
}
