/** Branches: the leaves gathered, so that adding up a long list begins with some dozens of numbers. */
import { RANK_NODES } from '#shared/read-models/collections.ts';
import type { RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import type { TreeChange } from './changes.ts';
import { cutBranches } from './cut.ts';
import type { Layout } from './layout.ts';
import { readLeaves } from './members.ts';
import { addUp, type NodeChange } from './node-change.ts';
import { increment, type Operations, removal, replacement } from './operations.ts';
import type { Work } from './work.ts';

/**
 * Adds the changes to their branches.
 * @returns whether the branches must be gathered anew instead: one has too many leaves, or lost its boundary.
 */
export function changeBranches(
  work: Work,
  { added, removed }: TreeChange,
  layout: Layout,
  operations: Operations,
): boolean {
  if (
    layout.branches.length === 0 ||
    layout.leavesPerBranch().some((leaves) => leaves > work.tree.branchLeaves) ||
    layout.branches.some((boundary) => layout.leaves[layout.leafOf(boundary)]?.boundary !== boundary)
  ) {
    return true;
  }
  const shares = new Map<number, Pick<TreeChange, 'added' | 'removed'>>();
  for (const [side, entries] of Object.entries({ added, removed }) as ['added' | 'removed', typeof added][]) {
    for (const entry of entries) {
      const index = layout.branchOf(entry.key);
      const share = shares.get(index) ?? { added: [], removed: [] };
      shares.set(index, share);
      share[side].push(entry);
    }
  }
  for (const [index, share] of shares) {
    const { total, counts } = addUp(share);
    const change: NodeChange = { total, counts, addedTexts: [], removedTexts: [] };
    operations.push(increment(work, 'branch', layout.branches[index] ?? '', change));
  }
  return false;
}

/** Gathers the leaves of the whole tree into branches anew: once in some ten thousand records. */
export async function gatherAnew(work: Work, layout: Layout): Promise<void> {
  const branches = cutBranches(work.tree, await readLeaves(work));
  const kept = new Set(branches.map(({ boundary }) => boundary));
  const operations: Operations = [
    ...layout.branches
      .filter((boundary) => !kept.has(boundary))
      .map((boundary) => removal(work, 'branch', boundary)),
    ...branches.map((branch) => replacement(work, 'branch', branch)),
  ];
  layout.branches = branches.map(({ boundary }) => boundary);
  await work.db
    .collection<RankNode>(RANK_NODES)
    .bulkWrite(operations, { session: work.session, ordered: false });
}
