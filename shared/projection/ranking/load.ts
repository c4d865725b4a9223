/** Loading nodes of a tree: those that a slice's keys lie in. */
import { RANK_NODES } from '../../read-models/collections.ts';
import { nodeId, type RankNode, type Root } from '../../read-models/rank-tree/nodes.ts';
import { LoadedTree } from './loaded-tree.ts';
import { damageOf } from './node-shape.ts';
import { type Part, TreeNode } from './tree-node.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** All in one round trip. */
const ONE_BATCH = 100_000;

/** Nodes that one command names: their `_id`s hold names, and a command has 16 MiB at most. */
const MOST_NAMED = 2_000;

/**
 * The tree that is stored, with every node on the way to some keys in memory.
 * @param cached as much of it as is in memory already.
 * @returns `null` where the tree was damaged: a node is missing that another names, or cannot be read.
 */
export async function loadTree(
  transaction: TreeTransaction,
  { leaves, levels, version }: Root,
  keys: Iterable<string>,
  cached: LoadedTree | null,
): Promise<LoadedTree | null> {
  if (leaves === undefined || levels === undefined || version === undefined) return null;
  let loaded = cached;
  if (loaded === null) {
    const [top] = await readNodes(transaction, [
      nodeId(transaction.tree.name, transaction.storeId, levels - 1, ''),
    ]);
    if (top === undefined || damageOf(top) !== null) return null;
    loaded = new LoadedTree(TreeNode.ofStored(levels - 1, top), leaves);
  }
  const tree = loaded;
  const onTheWay = () => [...keys].flatMap((key) => tree.missingFor(key) ?? []);
  return (await loadMissing(transaction, onTheWay)) ? tree : null;
}

/** Loads what is missing, level by level. @returns false where a node is missing or cannot be read. */
async function loadMissing(
  transaction: TreeTransaction,
  missing: () => { level: number; part: Part }[],
): Promise<boolean> {
  for (;;) {
    const wanted = new Map(
      missing().map(({ level, part }) => [
        nodeId(transaction.tree.name, transaction.storeId, level, part.boundary),
        { level, part },
      ]),
    );
    if (wanted.size === 0) return true;
    const found = await readNodes(transaction, [...wanted.keys()]);
    if (found.length < wanted.size || found.some((node) => damageOf(node) !== null)) return false;
    for (const node of found) {
      const place = wanted.get(node._id);
      if (place !== undefined) place.part.below = TreeNode.ofStored(place.level, node);
    }
  }
}

async function readNodes({ db, session, storeId }: TreeTransaction, ids: string[]): Promise<RankNode[]> {
  const found: RankNode[] = [];
  for (let start = 0; start < ids.length; start += MOST_NAMED) {
    const part = ids.slice(start, start + MOST_NAMED);
    const nodes = db
      .collection<RankNode>(RANK_NODES)
      .find({ store_id: storeId, _id: { $in: part } }, { session, batchSize: ONE_BATCH });
    found.push(...(await nodes.toArray()));
  }
  return found;
}
