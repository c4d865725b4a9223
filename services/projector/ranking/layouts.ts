/**
 * Layouts that are remembered from slice to slice, so that a key's leaf is found without reading the tree. Each belongs
 * to one version of its tree, which the stamp names: after a transaction that was undone, or another writer's, the
 * versions differ and the layout is read again.
 */
import { LRUCache } from 'lru-cache';
import type { ClientSession, Db } from 'mongodb';
import { RANK_NODES } from '#shared/read-models/collections.ts';
import { type Level, levelPrefix, nodesBetween, type RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import type { TreeName } from '#shared/read-models/rank-tree/trees.ts';
import { Layout, type LeafPlace } from './layout.ts';

/** About 100 bytes each: a store with ten million orders has some 30,000. */
const REMEMBERED_LEAVES = 500_000;
/** A tree in one round trip. */
const ONE_BATCH = 100_000;

const remembered = new LRUCache<string, { version: string; layout: Layout }>({
  maxSize: REMEMBERED_LEAVES,
  sizeCalculation: ({ layout }) => layout.leaves.length + 1,
});

/** The layout of a version of a tree. */
export async function layoutOf(
  db: Db,
  session: ClientSession,
  tree: TreeName,
  storeId: string,
  version: string,
): Promise<Layout> {
  const key = nameOf(db, tree, storeId);
  const known = remembered.get(key);
  if (known?.version === version) {
    // Whoever gets it changes it: should the transaction be undone, what is remembered must not be wrong.
    remembered.delete(key);
    return known.layout;
  }
  const [leaves, branches] = [
    await readPlaces(db, session, tree, storeId, 'leaf'),
    await readPlaces(db, session, tree, storeId, 'branch'),
  ];
  return new Layout(
    leaves,
    branches.map(({ boundary }) => boundary),
  );
}

/** Remembers the layout that a tree has from a version on. */
export function rememberLayout(
  db: Db,
  tree: TreeName,
  storeId: string,
  version: string,
  layout: Layout,
): void {
  remembered.set(nameOf(db, tree, storeId), { version, layout });
}

async function readPlaces(
  db: Db,
  session: ClientSession,
  tree: TreeName,
  storeId: string,
  level: Level,
): Promise<LeafPlace[]> {
  const prefix = levelPrefix(tree, storeId, level);
  const nodes = await db
    .collection<RankNode>(RANK_NODES)
    .find(nodesBetween(tree, storeId, level, '', null), {
      session,
      projection: { total: 1 },
      sort: { _id: 1 },
      batchSize: ONE_BATCH,
    })
    .toArray();
  return nodes.map(({ _id, total }) => ({ boundary: _id.slice(prefix.length), total }));
}

function nameOf(db: Db, tree: TreeName, storeId: string): string {
  return `${db.databaseName}/${tree}/${storeId}`;
}
