/** Making a tree of all its records: where it had no leaves, was damaged, or is repaired. Records and leaves come one after the other. */
import { inBatches } from '../../batches.ts';
import { RANK_NODES } from '../../read-models/collections.ts';
import { boundaryBetween } from '../../read-models/rank-tree/keys.ts';
import type { LeafTexts } from '../../read-models/rank-tree/nodes.ts';
import type { RankEntry, RankTree } from '../../read-models/rank-tree/trees.ts';
import { bytesOfTexts } from '../../read-models/search-texts.ts';
import { LoadedTree } from './loaded-tree.ts';
import { scanRecords } from './members.ts';
import { type CutLeaf, leafOf } from './split.ts';
import { replaceTexts } from './texts.ts';
import type { Part } from './tree-node.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** How full leaves are made: none is cut again soon. */
const FILL = 0.75;
const LEAVES_A_WRITE = 500;

/**
 * Makes a tree, of which nothing may be stored any more, and writes the texts of its leaves.
 * @returns the tree, whose nodes are not written yet. It has one leaf where there are no records.
 */
export async function plantTree(transaction: TreeTransaction): Promise<LoadedTree> {
  const { db, session, tree } = transaction;
  const stored = db.collection<LeafTexts>(RANK_NODES);
  const leaves: Part[] = [];
  for await (const batch of inBatches(leavesOf(tree, scanRecords(transaction)), LEAVES_A_WRITE)) {
    const texts = batch.flatMap((leaf) => replaceTexts(transaction, leaf));
    if (texts.length > 0) await stored.bulkWrite(texts, { session, ordered: false });
    for (const { texts: _written, ...leaf } of batch) leaves.push(leaf);
  }
  return LoadedTree.of(tree, leaves);
}

async function* leavesOf(tree: RankTree, records: AsyncIterable<RankEntry>): AsyncGenerator<CutLeaf> {
  const size = Math.max(1, Math.floor(tree.leafRecords * FILL));
  let part: RankEntry[] = [];
  let bytes = 0;
  let boundary = '';
  for await (const record of records) {
    const last = part.at(-1);
    const more = record.texts === undefined ? 0 : bytesOfTexts(record.texts);
    if (last !== undefined && (part.length >= size || bytes + more > tree.leafBytes * FILL)) {
      yield leafOf(tree, boundary, part);
      boundary = boundaryBetween(last.key, record.key);
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += more;
  }
  if (part.length > 0 || boundary === '') yield leafOf(tree, boundary, part);
}
