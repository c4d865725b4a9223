/** Loading nodes of a tree: those that a slice's keys lie in, or all. */
import { RANK_NODES } from '../../read-models/collections.ts';
import { nodeId, type RankNode, type Root } from '../../read-models/rank-tree/nodes.ts';
import { HeldTree } from './loaded-tree.ts';
import { damageOf } from './node-shape.ts';
import { takeRemembered } from './tree-cache.ts';
import { type Part, TreeNode } from './tree-node.ts';
import type { Work } from './tree-transaction.ts';

/** All in one round trip. */
const ONE_BATCH = 100_000;

/** Nodes that one command names: their `_id`s hold names, and a command has 16 MiB at most. */
const MOST_NAMED = 2_000;

type Wanted = Iterable<{ level: number; part: Part }>;

/**
 * The tree that is stored, with every node on the way to some keys in memory.
 * @returns `null` where the tree was damaged: a node is missing that another names, or cannot be read.
 */
export async function loadTree(
  work: Work,
  { leaves, levels, version }: Root,
  keys: Iterable<string>,
): Promise<HeldTree | null> {
  if (leaves === undefined || levels === undefined || version === undefined) return null;
  let held = takeRemembered(work, version);
  if (held === null) {
    const [top] = await readNodes(work, [nodeId(work.tree.name, work.storeId, levels - 1, '')]);
    if (top === undefined || damageOf(top) !== null) return null;
    held = new HeldTree(TreeNode.ofStored(levels - 1, top), leaves);
  }
  const tree = held;
  const onTheWay = () => [...keys].flatMap((key) => tree.missingFor(key) ?? []);
  return (await loadMissing(work, onTheWay)) ? tree : null;
}

/** Loads all nodes. @returns false where one is missing or cannot be read. */
export async function loadAll(work: Work, held: HeldTree): Promise<boolean> {
  return loadMissing(work, () => held.missing());
}

/** Loads what is missing, level by level. */
async function loadMissing(work: Work, missing: () => Wanted): Promise<boolean> {
  for (;;) {
    const wanted = new Map<string, { level: number; part: Part }>();
    for (const { level, part } of missing()) {
      wanted.set(nodeId(work.tree.name, work.storeId, level, part.boundary), { level, part });
    }
    if (wanted.size === 0) return true;
    const found = await readNodes(work, [...wanted.keys()]);
    if (found.some((node) => damageOf(node) !== null)) return false;
    for (const node of found) {
      const place = wanted.get(node._id);
      if (place !== undefined) place.part.below = TreeNode.ofStored(place.level, node);
    }
    if (found.length < wanted.size) return false;
  }
}

async function readNodes({ db, session, storeId }: Work, ids: string[]): Promise<RankNode[]> {
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
