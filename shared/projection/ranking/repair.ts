/** Repairing: a store's stamp and rank trees made anew from its records, in one transaction that no slice can overlap. */
import type { Db, MongoClient } from 'mongodb';
import { ENTITY_NAMES } from '../../events/entities/index.ts';
import { RANK_NODES, type Stamp, STAMPS } from '../../read-models/collections.ts';
import { newEpoch, withEpoch } from '../../read-models/feed-epochs.ts';
import { anyOf, type LeafTexts, type RankNode } from '../../read-models/rank-tree/nodes.ts';
import { RANK_TREES, type RankEntry, type RankTree } from '../../read-models/rank-tree/trees.ts';
import { boundaryBetween } from '../../read-models/rank-tree/keys.ts';
import { bytesOfTexts } from '../../read-models/search-texts.ts';
import { recountProducts } from '../catalog/count.ts';
import { repairErasures } from '../erasing/verify.ts';
import { enqueue } from '../rewriting/queue.ts';
import { type CountedStore, countStore } from './count-store.ts';
import { type CutLeaf, leafOf } from './split.ts';
import { LoadedTree } from './loaded-tree.ts';
import { scanRecords } from './members.ts';
import { Tally } from './tally.ts';
import { replaceTexts } from './texts.ts';
import type { Part } from './tree-node.ts';
import { nextVersion } from './version.ts';
import { areEpochs, lastPosition, numberIn } from './verify-stamp.ts';
import type { TreeTransaction } from './tree-transaction.ts';

/** How full leaves are made: none is cut again soon. */
const FILL = 0.75;
const LEAVES_A_WRITE = 500;

/**
 * Makes a store's stamp and trees anew. The stamp is written, so that a slice of the same store at the same moment
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
        const stamps = db.collection<Stamp>(STAMPS);
        const before = await stamps.findOne({ _id: storeId }, { session });
        await recountProducts(db, session, storeId);
        const { _id, ...stamp } = stampOf(storeId, before ?? {}, await countStore(db, session, storeId));
        const layout = nextVersion();
        const erasing = await repairErasures(db, session, storeId);
        const replacement = { ...stamp, ...(erasing ? { erasing: true as const } : {}), ranks, layout };
        await stamps.replaceOne({ _id }, replacement, { session, upsert: true });
        if (before?.timezone_offset !== stamp.timezone_offset) await enqueue(db, session, [storeId]);
      },
      { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } },
    ),
  );
}

/**
 * The stamp as its records count it, but for the trees. Counters of events go where they never were: an answer that showed
 * something wrong must not be taken for current, also where a counter had been lowered. Positions are never given
 * twice; who wrote which of them begins anew where that cannot be read.
 */
function stampOf(storeId: string, before: Partial<Stamp>, counted: CountedStore): Stamp {
  const { timezoneOffset, kinds } = counted;
  const stamp: Stamp = { _id: storeId, store_id: storeId, counts: {}, tombstones: {}, positions: {} };
  if (timezoneOffset !== null) stamp.timezone_offset = timezoneOffset;
  const given = numberIn(before, 'position');
  const position = Math.max(typeof given === 'number' ? given : 0, lastPosition(before, counted));
  if (position > 0) {
    stamp.position = position;
    stamp.epochs =
      before.epochs !== undefined && areEpochs(before.epochs, position)
        ? before.epochs
        : withEpoch(undefined, { id: newEpoch(), from: position + 1 });
  }
  const { slice_partition, slice_end } = before;
  if (Number.isSafeInteger(slice_partition) && Number.isSafeInteger(slice_end)) {
    Object.assign(stamp, { slice_partition, slice_end });
  }
  const now = Date.now();
  for (const entity of ENTITY_NAMES) {
    const [events, last] = [numberIn(before, entity), numberIn(before.positions ?? {}, entity)];
    const { records, tombstones, position: atLeast } = kinds[entity];
    if (records > 0) Object.assign(stamp.counts ?? {}, { [entity]: records });
    if (tombstones > 0) Object.assign(stamp.tombstones ?? {}, { [entity]: tombstones });
    stamp[entity] = Math.max(typeof events === 'number' ? events + 1 : 0, now);
    const highest = Math.max(typeof last === 'number' ? last : 0, atLeast);
    if (highest > 0) Object.assign(stamp.positions ?? {}, { [entity]: highest });
  }
  return stamp;
}

/** Writes a tree's nodes anew. @returns its root; `null` where it has no records. */
async function plant(transaction: TreeTransaction) {
  const { db, session, tree, storeId } = transaction;
  const nodes = db.collection<RankNode>(RANK_NODES);
  await nodes.deleteMany(anyOf(tree.name, storeId), { session });
  const all = new Tally();
  const leaves: Part[] = [];
  let waiting: CutLeaf[] = [];
  const take = async () => {
    const texts = waiting.flatMap((leaf) => replaceTexts(transaction, leaf));
    if (texts.length > 0) {
      await db.collection<LeafTexts>(RANK_NODES).bulkWrite(texts, { session, ordered: false });
    }
    for (const { texts: _written, ...leaf } of waiting) leaves.push(leaf);
    waiting = [];
  };
  for await (const leaf of leavesOf(tree, scanRecords(transaction), all)) {
    waiting.push(leaf);
    if (waiting.length >= LEAVES_A_WRITE) await take();
  }
  if (all.total === 0) return null;
  // So few that the root alone says it all.
  if (all.total <= tree.leafRecords) return { counts: all.counts };
  await take();
  const loaded = LoadedTree.of(tree, leaves);
  await nodes.insertMany(loaded.takeChanged(tree, storeId), { session, ordered: false });
  return { counts: all.counts, leaves: loaded.leaves, levels: loaded.levels, version: nextVersion() };
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
