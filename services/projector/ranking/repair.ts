/** Repairing: a store's counts and rank trees made anew from its records, in one transaction that no slice can overlap. */
import type { ClientSession, Db, MongoClient } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities/index.ts';
import { COLLECTIONS, RANK_NODES, type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { type LeafTexts, nodesOf, type RankNode } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES, type RankEntry, type RankTree } from '#shared/read-models/rank-tree/trees.ts';
import { boundaryBetween } from '#shared/read-models/rank-tree/keys.ts';
import { bytesOfTexts } from '#shared/read-models/search-texts.ts';
import { recountProducts } from '../catalog/count.ts';
import { repairErasures } from '../erasing/verify.ts';
import { type CutLeaf, leafOf } from './cut.ts';
import { HeldTree } from './held-tree.ts';
import { scanRecords } from './members.ts';
import { Tally } from './tally.ts';
import { replaceTexts } from './texts.ts';
import type { Part } from './tree-node.ts';
import { nextVersion } from './version.ts';
import type { Work } from './work.ts';

/** How full leaves are made: none is cut again soon. */
const FILL = 0.75;
const LEAVES_A_WRITE = 500;

/**
 * Makes a store's counts and trees anew. The stamp is written, so that a slice of the same store at the same moment
 * starts again from what is stored then.
 */
export async function repairStore(client: MongoClient, db: Db, storeId: string): Promise<void> {
  await client.withSession((session) =>
    session.withTransaction(
      async () => {
        const ranks: Stamp['ranks'] = {};
        for (const tree of Object.values(RANK_TREES)) {
          const root = await plant({ db, session, tree, storeId });
          if (root !== null) ranks[tree.name] = root;
        }
        const { counts, applied } = await countRecords(db, session, storeId);
        await recountProducts(db, session, storeId);
        const layout = nextVersion();
        const erasing = await repairErasures(db, session, storeId);
        await db.collection<Stamp>(STAMPS).updateOne(
          { _id: storeId },
          {
            $set: { ranks, counts, layout, ...(erasing ? { erasing: true } : {}) },
            $inc: applied,
            ...(erasing ? {} : { $unset: { erasing: '' } }),
          },
          { session },
        );
      },
      { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } },
    ),
  );
}

/** The stamp's counters move as well: an answer that showed a wrong count must not be taken for current. */
async function countRecords(db: Db, session: ClientSession, storeId: string) {
  const counts: Partial<Record<EntityName, number>> = {};
  const applied: Partial<Record<EntityName, number>> = {};
  for (const entity of ENTITY_NAMES) {
    counts[entity] = await db
      .collection(COLLECTIONS[entity])
      .countDocuments({ store_id: storeId }, { session });
    applied[entity] = 1;
  }
  return { counts, applied };
}

/** Writes a tree's nodes anew. @returns its root; `null` where it has no records. */
async function plant(work: Work) {
  const { db, session, tree, storeId } = work;
  const nodes = db.collection<RankNode>(RANK_NODES);
  await nodes.deleteMany(nodesOf(tree.name, storeId), { session });
  const all = new Tally();
  const leaves: Part[] = [];
  let waiting: CutLeaf[] = [];
  const take = async () => {
    const texts = waiting.flatMap((leaf) => replaceTexts(work, leaf));
    if (texts.length > 0) {
      await db.collection<LeafTexts>(RANK_NODES).bulkWrite(texts, { session, ordered: false });
    }
    for (const { texts: _written, ...leaf } of waiting) leaves.push(leaf);
    waiting = [];
  };
  for await (const leaf of leavesOf(tree, scanRecords(work), all)) {
    waiting.push(leaf);
    if (waiting.length >= LEAVES_A_WRITE) await take();
  }
  if (all.total === 0) return null;
  // So few that the root alone says it all.
  if (all.total <= tree.leafRecords) return { counts: all.counts };
  await take();
  const held = HeldTree.of(tree, leaves);
  await nodes.insertMany(held.takeChanged(tree, storeId), { session, ordered: false });
  return { counts: all.counts, leaves: held.leaves, levels: held.levels, version: nextVersion() };
}

async function* leavesOf(
  tree: RankTree,
  records: AsyncIterable<RankEntry>,
  all: Tally,
): AsyncGenerator<CutLeaf> {
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
    all.add(record);
  }
  if (part.length > 0) yield leafOf(tree, boundary, part);
}
