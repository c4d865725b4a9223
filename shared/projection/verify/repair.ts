/** Rebuilds a store's stamp, rank trees and damaged feed positions from its records, in one transaction that conflicts with slices. */
import type { ClientSession, Db } from 'mongodb';
import type { FindErased } from '../../access/erased-stores.ts';
import { ENTITY_NAMES } from '../../events/entities.ts';
import { forSnapshots } from '../../mongodb.ts';
import { type Stamp, nodesIn, stampsIn } from '../../read-models/collections.ts';
import { newEpoch, withEpoch } from '../../read-models/feed-epochs.ts';
import { anyOf, type Root } from '../../read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { recountProducts } from '../pipeline/layouts.ts';
import { type DamagedPosition, findDamagedPositions, repairPositions } from './positions.ts';
import { repairErasures } from '../erasure/erase.ts';
import { areEpochs, type CountedStore, countStore, countIn, lastPosition } from './store.ts';
import { buildTree } from '../rank-tree/stored.ts';
import { nextVersion, type TreeTransaction } from '../rank-tree/loaded-tree.ts';

/** @param findErased finds an erasure of the store: events from before it stay skipped. */
export async function repairStore(db: Db, storeId: string, findErased: FindErased): Promise<void> {
  // Before the transaction, which cannot read a union of collections. A record that changes meanwhile takes one position more.
  const damaged = await db.client.withSession({ snapshot: true }, (session) =>
    findDamagedPositions(forSnapshots(db), session, storeId),
  );
  await db.client.withSession((session) =>
    session.withTransaction(
      async () => {
        const ranks: Stamp['ranks'] = {};
        for (const tree of Object.values(RANK_TREES)) {
          const root = await rebuildTree({ db, session, tree, storeId });
          if (root !== null) ranks[tree.name] = root;
        }
        const stamps = stampsIn(db);
        const before = await stamps.findOne({ _id: storeId }, { session });
        // An erasure is noted before it removes the stamp.
        const erased_at = (await findErased([storeId])).times.get(storeId);
        await recountProducts(db, session, storeId);
        const { _id, ...stamp } = await positionedStamp(db, session, storeId, before ?? {}, damaged);
        const layout = nextVersion();
        const erasing = await repairErasures(db, session, storeId);
        const replacement = {
          ...stamp,
          ...(erasing ? { erasing: true as const } : {}),
          ...(erased_at === undefined ? {} : { erased_at }),
          ranks,
          layout,
        };
        await stamps.replaceOne({ _id }, replacement, { session, upsert: true });
      },
      { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } },
    ),
  );
}

/**
 * Each damaged position becomes a new one behind all given ones, under a new epoch: the projector that gave the last one before would give
 * the same ones to other records.
 */
async function positionedStamp(
  db: Db,
  session: ClientSession,
  storeId: string,
  before: Partial<Stamp>,
  damaged: readonly DamagedPosition[],
): Promise<Stamp> {
  const found = stampOf(storeId, before, await countStore(db, session, storeId));
  if (damaged.length === 0) return found;
  const { position = 0, epochs } = found;
  await repairPositions(db, session, storeId, damaged, { position, positions: {} });
  const given = { position, epochs: withEpoch(epochs, { id: newEpoch(), from: position + 1 }) };
  return stampOf(storeId, { ...before, ...given }, await countStore(db, session, storeId));
}

/**
 * Event counters move to unused values, so that ETags of wrong answers never match. Positions are never given twice. An unreadable list of
 * epochs begins again.
 */
function stampOf(storeId: string, before: Partial<Stamp>, counted: CountedStore): Stamp {
  const { timezoneOffset, kinds } = counted;
  const stamp: Stamp = { _id: storeId, store_id: storeId, counts: {}, tombstones: {}, positions: {} };
  if (timezoneOffset !== null) stamp.timezone_offset = timezoneOffset;
  const position = Math.max(countIn(before, 'position'), lastPosition(before.positions, counted));
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
    const { records, tombstones, position: atLeast } = kinds[entity];
    if (records > 0) Object.assign(stamp.counts ?? {}, { [entity]: records });
    if (tombstones > 0) Object.assign(stamp.tombstones ?? {}, { [entity]: tombstones });
    stamp[entity] = Math.max(countIn(before, entity) + 1, now);
    const highest = Math.max(countIn(before.positions, entity), atLeast);
    if (highest > 0) Object.assign(stamp.positions ?? {}, { [entity]: highest });
  }
  return stamp;
}

/** Writes a tree's nodes anew. @returns its root; `null` where it has no records. */
async function rebuildTree(transaction: TreeTransaction): Promise<Root | null> {
  const { db, session, tree, storeId } = transaction;
  const nodes = nodesIn(db);
  const remove = () => nodes.deleteMany(anyOf(tree.name, storeId), { session });
  await remove();
  const loaded = await buildTree(transaction);
  const { total, counts } = loaded.counted;
  if (total <= tree.leafRecords) {
    // So few that the root alone has all counts.
    await remove();
    return total === 0 ? null : { counts };
  }
  await nodes.insertMany(loaded.takeChanged(tree, storeId), { session, ordered: false });
  return { counts, leaves: loaded.leaves, levels: loaded.levels, version: nextVersion() };
}
