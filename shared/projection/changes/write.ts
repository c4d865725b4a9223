/** Writing a plan: every change of a slice's transaction but the checkpoint, in few round trips. */
import type { AnyBulkWriteOperation, ClientSession, Db } from 'mongodb';
import type { EntityName } from '../../events/entities/index.ts';
import {
  BY_ID,
  COLLECTIONS,
  documentsWith,
  type ReadModelDocument,
  type Stamp,
  STAMPS,
  type Tombstone,
  TOMBSTONES,
  tombstonesWith,
} from '../../read-models/collections.ts';
import { markStoreRecords } from '../access/store-records.ts';
import { writeLayouts } from '../catalog/write-layouts.ts';
import type { Slice } from '../slice/slice.ts';
import { eraseCustomers } from '../erasing/slice.ts';
import { maintainTrees, type RootChange } from '../ranking/maintain.ts';
import type { TreeCache } from '../ranking/tree-cache.ts';
import { movedStores } from '../rewriting/moved-offsets.ts';
import { enqueue } from '../rewriting/queue.ts';
import type { Epochs, Given, GivenPositions } from './epochs.ts';
import { insertDocuments } from './insert.ts';
import type { Plan, StampChange } from './plan.ts';
import type { Stored } from './stored.ts';

/** What stamps are marked with, and what is known of their trees. */
interface Marks {
  epochs: Epochs;
  trees: TreeCache;
  /** When stores were erased that may begin anew. */
  erasedAt: ReadonlyMap<string, Date>;
  /** The slice, if it is its partition's next one. */
  slice: Pick<Slice, 'partition' | 'next'> | null;
}

/**
 * Writes a plan in the session's transaction.
 * @param stored the stamps as they were before it.
 * @param partition whose slice it is.
 * @returns the positions that are given by it.
 */
export async function writePlan(
  db: Db,
  session: ClientSession,
  plan: Plan,
  stored: Pick<Stored, 'stamps'>,
  partition: number,
  marks: Marks,
): Promise<GivenPositions> {
  // Whatever takes effect moves a stamp.
  if (plan.stamps.size === 0) return new Map();
  await writeTombstones(db, session, plan);
  // Before the documents: those of this slice are right as they are, also where a customer is back.
  const erasing = await eraseCustomers(db, session, plan, stored, partition);
  const moved = movedStores(plan, stored.stamps);
  for (const entity of Object.keys(COLLECTIONS) as EntityName[]) {
    await writeDocuments(db, session, plan, entity);
    // Nobody needs them any longer, and the transaction goes on for a while.
    plan.inserts.delete(entity);
    plan.replacements.delete(entity);
  }
  const layouts = await writeLayouts(db, session, plan.layouts);
  const roots = await maintainTrees(
    db,
    session,
    plan.trees,
    (storeId, tree) => stored.stamps.get(storeId)?.ranks?.[tree],
    marks.trees,
  );
  const given = await writeStamps(db, session, plan.stamps, stored, roots, layouts, marks);
  await markStoreRecords(db, session, plan.storeRecords);
  await enqueue(db, session, [
    ...moved.map((store_id) => ({ store_id, kind: 'offset' as const })),
    ...erasing.map((store_id) => ({ store_id, kind: 'erasures' as const, partition })),
  ]);
  return given;
}

/**
 * Documents that replace others are written by removing those and inserting them: MongoDB removes many by one statement,
 * while every replacement is a statement of its own, which costs it a third more (decision 0028).
 */
async function writeDocuments(db: Db, session: ClientSession, plan: Plan, entity: EntityName): Promise<void> {
  const inserts = plan.inserts.get(entity) ?? [];
  const replacements = plan.replacements.get(entity) ?? [];
  const removals = plan.removals.get(entity) ?? [];
  const collection = db.collection<ReadModelDocument>(COLLECTIONS[entity]);
  if (replacements.length + removals.length > 0) {
    const ids = [...removals, ...replacements.map(({ _id }) => _id)];
    await collection.deleteMany(documentsWith(ids), { session, hint: BY_ID });
  }
  if (inserts.length + replacements.length > 0) {
    await insertDocuments(db, session, COLLECTIONS[entity], [...inserts, ...replacements]);
  }
}

async function writeTombstones(db: Db, session: ClientSession, { tombstones, raised }: Plan): Promise<void> {
  const operations: AnyBulkWriteOperation<Tombstone>[] = [
    ...tombstones.map(({ _id, ...replacement }) => ({
      replaceOne: { filter: tombstonesWith([_id]), replacement, upsert: true, hint: BY_ID },
    })),
    ...(raised.length === 0 ? [] : [{ deleteMany: { filter: tombstonesWith(raised), hint: BY_ID } }]),
  ];
  if (operations.length === 0) return;
  await db.collection<Tombstone>(TOMBSTONES).bulkWrite(operations, { session, ordered: false });
}

async function writeStamps(
  db: Db,
  session: ClientSession,
  stamps: Map<string, StampChange>,
  stored: Pick<Stored, 'stamps'>,
  roots: readonly RootChange[],
  layouts: ReadonlyMap<string, string>,
  { epochs, slice, erasedAt }: Marks,
): Promise<GivenPositions> {
  const given = new Map<string, Given>();
  if (stamps.size === 0) return given;
  const rootsOf = Map.groupBy(roots, ({ storeId }) => storeId);
  const operations = [...stamps].map(([_id, change]): AnyBulkWriteOperation<Stamp> => {
    const { counters, counts, tombstones, offset, erasing } = change;
    const $inc: Record<string, number> = {
      ...counters,
      ...under('counts', counts),
      ...under('tombstones', tombstones),
    };
    // They follow what was read in this transaction: whoever gave others meanwhile has changed the stamp, and one of the two fails.
    const { fields: $set, given: taken } = epochs.fieldsAfter(_id, stored.stamps.get(_id), change);
    given.set(_id, taken);
    if (slice !== null) Object.assign($set, { slice_partition: slice.partition, slice_end: slice.next });
    if (typeof offset === 'string') $set['timezone_offset'] = offset;
    if (erasing) $set['erasing'] = true;
    const erased_at = erasedAt.get(_id);
    const layout = layouts.get(_id);
    if (layout !== undefined) $set['layout'] = layout;
    for (const { tree, counts: facets, nodes } of rootsOf.get(_id) ?? []) {
      Object.assign($inc, under(`ranks.${tree}.counts`, facets));
      if (nodes !== undefined) Object.assign($set, under(`ranks.${tree}`, { ...nodes }));
    }
    return {
      updateOne: {
        filter: { _id },
        update: {
          $inc,
          $set,
          $setOnInsert: { store_id: _id, ...(erased_at === undefined ? {} : { erased_at }) },
          ...(offset === null ? { $unset: { timezone_offset: '' as const } } : {}),
        },
        upsert: true,
      },
    };
  });
  await db.collection<Stamp>(STAMPS).bulkWrite(operations, { session, ordered: false });
  return given;
}

/** Fields of an embedded document, as an update names them. */
function under<V>(field: string, members: Record<string, V>): Record<string, V> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [`${field}.${name}`, value]));
}
