/** Leaves: which ones a slice changes, and which of them must be cut. */
import type { Root } from '#shared/read-models/rank-tree/nodes.ts';
import type { RankTree } from '#shared/read-models/rank-tree/trees.ts';
import type { TreeChange } from './changes.ts';
import { cutLeaves } from './cut.ts';
import { Layout } from './layout.ts';
import { layoutOf } from './layouts.ts';
import { readRecords } from './members.ts';
import { addUp, type NodeChange } from './node-change.ts';
import { increment, type Operations, removal, replacement } from './operations.ts';
import type { Work } from './work.ts';

/**
 * Changes the leaves of a tree.
 * @returns the tree's layout as it is now; `null` while it needs no leaves.
 */
export async function changeLeaves(
  work: Work,
  change: TreeChange,
  root: Root,
  operations: Operations,
): Promise<Layout | null> {
  const { db, session, tree, storeId } = work;
  if (root.leaves === undefined || root.version === undefined) {
    const before = Object.values(root.counts ?? {}).reduce((sum, count) => sum + count, 0);
    if (before + change.added.length - change.removed.length <= tree.leafRecords) return null;
    const layout = new Layout([{ boundary: '', total: 0 }], []);
    await cutAnew(work, layout, 0, 0, operations);
    return layout;
  }
  const layout = await layoutOf(db, session, tree.name, storeId, root.version);
  const { fitting, cuts } = shareOut(tree, layout, change);
  for (const [index, leafChange] of fitting) {
    const leaf = layout.leaves[index];
    if (leaf === undefined) continue;
    leaf.total += leafChange.total;
    operations.push(increment(work, 'leaf', leaf.boundary, leafChange));
  }
  // From the back, so that the indexes of those in front stay right.
  for (const [first, last] of cuts.toReversed()) await cutAnew(work, layout, first, last, operations);
  return layout;
}

/** An update that removes more pieces of text than this would be nested too deep. */
const MOST_REMOVED = 20;

/** The changes of each leaf: those that can be added to it, and the ranges of leaves that must be cut anew. */
function shareOut(
  tree: RankTree,
  layout: Layout,
  { added, removed }: TreeChange,
): { fitting: Map<number, NodeChange>; cuts: [first: number, last: number][] } {
  const shares = new Map<number, Pick<TreeChange, 'added' | 'removed'>>();
  const shareOf = (key: string) => {
    const index = layout.leafOf(key);
    const share = shares.get(index) ?? { added: [], removed: [] };
    shares.set(index, share);
    return share;
  };
  for (const entry of added) shareOf(entry.key).added.push(entry);
  for (const entry of removed) shareOf(entry.key).removed.push(entry);

  const fitting = new Map<number, NodeChange>();
  const cuts: [first: number, last: number][] = [];
  for (const [index, share] of [...shares].toSorted(([a], [b]) => a - b)) {
    const leaf = layout.leaves[index];
    if (leaf === undefined) continue;
    const change = addUp(share);
    // A boundary is the beginning of a key. Of a customer's name nothing may stay when they go.
    const named =
      tree.searched && leaf.boundary !== '' && share.removed.some(({ key }) => key.startsWith(leaf.boundary));
    if (named) addCut(cuts, index - 1, index);
    else if (leaf.total + change.total > tree.leafRecords || change.removedTexts.length > MOST_REMOVED) {
      addCut(cuts, index, index);
    } else fitting.set(index, change);
  }
  for (const [first, last] of cuts) {
    for (let index = first; index <= last; index += 1) fitting.delete(index);
  }
  return { fitting, cuts };
}

/** Adds a range of leaves to those that are cut; ranges that meet become one. */
function addCut(cuts: [first: number, last: number][], first: number, last: number): void {
  const before = cuts.at(-1);
  if (before !== undefined && before[1] >= first) before[1] = last;
  else cuts.push([first, last]);
}

/** Cuts the records of a range of leaves into leaves anew. */
async function cutAnew(
  work: Work,
  layout: Layout,
  first: number,
  last: number,
  operations: Operations,
): Promise<void> {
  const from = layout.leaves[first]?.boundary ?? '';
  const leaves = cutLeaves(work.tree, from, await readRecords(work, from, layout.endOfLeaf(last)));
  const kept = new Set(leaves.map(({ boundary }) => boundary));
  for (const { boundary } of layout.leaves.slice(first, last + 1)) {
    if (!kept.has(boundary)) operations.push(removal(work, 'leaf', boundary));
  }
  for (const leaf of leaves) operations.push(replacement(work, 'leaf', leaf));
  layout.replaceLeaves(first, last, leaves);
}
