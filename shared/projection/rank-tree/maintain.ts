/**
 * Maintains rank trees: counts a slice's changes in their nodes, and cuts leaves and nodes that outgrow their bounds.
 * In the slice's transaction, after its documents are written.
 */
import type { AnyBulkWriteOperation, ClientSession, Db } from 'mongodb';
import { RANK_NODES } from '../../read-models/collections.ts';
import type { LeafTexts, RankNode, Root, TreeName } from '../../read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { changeTree } from './change.ts';
import type { TextOperations } from './stored.ts';
import {
  nextVersion,
  type TreeCache,
  type TreeChange,
  type TreeChanges,
  type TreeTransaction,
} from './loaded-tree.ts';

/** How a root changes: counts by how much, the rest to what. */
export interface RootChange {
  tree: TreeName;
  storeId: string;
  counts: Record<string, number>;
  /** Absent while the tree has no leaves. */
  nodes?: Required<Pick<Root, 'leaves' | 'levels' | 'version'>>;
}

/**
 * Writes what a slice changes in nodes.
 * @param rootOf the roots as they were before the slice.
 * @returns how the roots change, which the stamps' writer adds to them.
 */
export async function maintainTrees(
  db: Db,
  session: ClientSession,
  changes: TreeChanges,
  rootOf: (storeId: string, tree: TreeName) => Root | undefined,
  cache: TreeCache,
): Promise<RootChange[]> {
  const roots: RootChange[] = [];
  const nodes: RankNode[] = [];
  const texts: TextOperations = [];
  for (const change of changes.values()) {
    const transaction: TreeTransaction = {
      db,
      session,
      tree: RANK_TREES[change.tree],
      storeId: change.storeId,
    };
    const root = rootOf(change.storeId, change.tree) ?? {};
    const loaded = await changeTree(transaction, change, root, texts, cache.take(transaction, root.version));
    const rootChange = { tree: change.tree, storeId: change.storeId, counts: countsOf(change) };
    if (loaded === null) {
      roots.push(rootChange);
      continue;
    }
    nodes.push(...loaded.takeChanged(transaction.tree, transaction.storeId));
    const version = nextVersion();
    roots.push({ ...rootChange, nodes: { leaves: loaded.leaves, levels: loaded.levels, version } });
    cache.put(transaction, version, loaded);
  }
  await write(db, session, nodes, texts);
  return roots;
}

/** How the counts of facets change, by how much; what comes to nothing is left out. */
function countsOf({ added, removed }: TreeChange): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { facet } of added) counts[facet] = (counts[facet] ?? 0) + 1;
  for (const { facet } of removed) counts[facet] = (counts[facet] ?? 0) - 1;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

/**
 * All in one round trip, as a rule. They are few, so that it costs less than removing them first would, as it is done with
 * documents (decision 0028).
 */
async function write(
  db: Db,
  session: ClientSession,
  nodes: readonly RankNode[],
  texts: TextOperations,
): Promise<void> {
  const collection = db.collection<RankNode | LeafTexts>(RANK_NODES);
  const operations: AnyBulkWriteOperation<RankNode | LeafTexts>[] = nodes.map(({ _id, ...replacement }) => ({
    replaceOne: { filter: { _id }, replacement, upsert: true },
  }));
  operations.push(...(texts as AnyBulkWriteOperation<RankNode | LeafTexts>[]));
  if (operations.length > 0) await collection.bulkWrite(operations, { session, ordered: false });
}
