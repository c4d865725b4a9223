/**
 * Keeping rank trees: what a slice changes is added to the leaves and branches it falls into, and what outgrows its bound is cut.
 * In the slice's transaction, after its documents are written.
 */
import type { ClientSession, Db } from 'mongodb';
import { RANK_NODES } from '#shared/read-models/collections.ts';
import type { RankNode, Root } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES, type TreeName } from '#shared/read-models/rank-tree/trees.ts';
import { changeBranches, gatherAnew } from './branches.ts';
import type { TreeChanges } from './changes.ts';
import { rememberLayout } from './layouts.ts';
import { changeLeaves } from './leaves.ts';
import { addUp } from './node-change.ts';
import type { Operations } from './operations.ts';
import { nextVersion } from './version.ts';
import type { Work } from './work.ts';

/** How a root changes: counts by how much, the rest to what. */
export interface RootChange {
  tree: TreeName;
  storeId: string;
  counts: Record<string, number>;
  leaves?: number;
  version?: string;
}

/**
 * Writes what a slice changes in leaves and branches.
 * @param rootOf the roots as they were before the slice.
 * @returns how the roots change, which the stamps' writer adds to them.
 */
export async function maintainTrees(
  db: Db,
  session: ClientSession,
  changes: TreeChanges,
  rootOf: (storeId: string, tree: TreeName) => Root | undefined,
): Promise<RootChange[]> {
  const roots: RootChange[] = [];
  const operations: Operations = [];
  const crowded: (() => Promise<void>)[] = [];
  for (const change of changes.values()) {
    const work: Work = { db, session, tree: RANK_TREES[change.tree], storeId: change.storeId };
    const root = rootOf(change.storeId, change.tree) ?? {};
    const layout = await changeLeaves(work, change, root, operations);
    const counts = addUp(change).counts;
    if (layout === null) {
      roots.push({ tree: change.tree, storeId: change.storeId, counts });
      continue;
    }
    if (changeBranches(work, change, layout, operations)) crowded.push(() => gatherAnew(work, layout));
    const version = nextVersion();
    roots.push({
      tree: change.tree,
      storeId: change.storeId,
      counts,
      leaves: layout.leaves.length,
      version,
    });
    rememberLayout(db, change.tree, change.storeId, version, layout);
  }
  if (operations.length > 0) {
    await db.collection<RankNode>(RANK_NODES).bulkWrite(operations, { session, ordered: false });
  }
  for (const gather of crowded) await gather();
  return roots;
}
