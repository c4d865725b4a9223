/**
 * Compares a store's counts, rank trees and feed positions with its records, while projectors work,
 * and rebuilds them.
 */
import type { ClientSession, Db } from 'mongodb';
import { type TSchema, Type } from 'typebox';
import { ENTITY_NAMES, type EntityName } from '../../events/entities.ts';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  idsOfStore,
  type ReadModelDocument,
  recordsOf,
  type Stamp,
  type StoreDocument,
  stampsIn,
  tombstonesIn,
  nodesIn,
} from '../../read-models/collections.ts';
import { epochsIn, newEpoch, withEpoch } from '../../read-models/feed-epochs.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { verifyErasures, repairErasures } from '../erasure/erase.ts';
import { countByCategory, recountProducts } from '../pipeline/layouts.ts';
import { CLOSED, RootShape, shapeCheck } from '../rank-tree/node-shape.ts';
import {
  findDamagedPositions,
  verifyPositions,
  type DamagedPosition,
  repairPositions,
} from './positions.ts';
import { type Compare, verifyTree } from './tree.ts';
import type { FindErased } from '../../access/erased-stores.ts';
import { forSnapshots } from '../../mongodb.ts';
import { nodesOf, type Root } from '../../read-models/rank-tree/nodes.ts';
import { buildTree } from '../rank-tree/stored.ts';
import { nextVersion, type TreeTransaction } from '../rank-tree/loaded-tree.ts';

export interface Difference {
  storeId: string;
  /** The count, root or node that differs. It never holds a key, which may be a name. */
  what: string;
  stored: string;
  counted: string;
}

export async function verifyStore(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<Difference[]> {
  const stamp = await stampsIn(db).findOne({ _id: storeId }, { session });
  const differences: Difference[] = [];
  const compare: Compare = (what, stored, counted) => {
    if (stored !== counted)
      differences.push({ storeId, what, stored: `${stored}`, counted: `${counted}` });
  };
  verifyStamp(stamp, await countStore(db, session, storeId), compare);
  const stored = await db
    .collection<CategoryProducts>(CATEGORY_PRODUCTS)
    .find({ _id: idsOfStore(storeId) }, { session, batchSize: 10_000 })
    .toArray();
  const named = new Map(stored.map(({ _id, products }) => [_id, products]));
  const counted = await countByCategory(db, session, storeId);
  for (const id of new Set([...named.keys(), ...counted.keys()])) {
    const category = id.slice(storeId.length + 1);
    const what =
      category === '' ? 'products without a category' : `products of category ${category}`;
    compare(`number of ${what}`, named.get(id) ?? 0, counted.get(id) ?? 0);
  }
  for (const tree of Object.values(RANK_TREES)) {
    await verifyTree({ db, session, tree, storeId }, stamp, (what, ...values) =>
      compare(`${tree.name} tree: ${what}`, ...values),
    );
  }
  verifyPositions(await findDamagedPositions(db, session, storeId), compare);
  await verifyErasures(db, session, storeId, stamp, compare);
  return differences;
}

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

function optionalOf(names: readonly string[], schema: TSchema) {
  return Object.fromEntries(names.map((name) => [name, Type.Optional(schema)]));
}

const PerEntity = Type.Optional(Type.Object(optionalOf(ENTITY_NAMES, Count), CLOSED));

const FIELDS = {
  _id: Type.String(),
  store_id: Type.String(),
  timezone_offset: Type.Optional(Type.String()),
  counts: PerEntity,
  tombstones: PerEntity,
  ranks: Type.Optional(Type.Object(optionalOf(Object.keys(RANK_TREES), RootShape), CLOSED)),
  position: Type.Optional(Count),
  positions: PerEntity,
  epochs: Type.Optional(Type.String()),
  slice_partition: Type.Optional(Count),
  slice_end: Type.Optional(Count),
  layout: Type.Optional(Type.String()),
  erased_at: Type.Optional(Type.Refine(Type.Unknown(), (value) => value instanceof Date)),
  erasing: Type.Optional(Type.Literal(true)),
} satisfies Record<Exclude<keyof Stamp, EntityName>, TSchema>;

const damageOfStamp = shapeCheck(
  Type.Object({ ...FIELDS, ...optionalOf(ENTITY_NAMES, Count) }, CLOSED),
);

/**
 * Compares a stamp with its store's records. A malformed one is only reported as such: a repair
 * makes it anew.
 */
function verifyStamp(stamp: Stamp | null, counted: CountedStore, compare: Compare): void {
  const damage = stamp === null ? 'missing' : damageOfStamp(stamp);
  if (stamp === null || damage !== null) {
    compare('the stamp', damage ?? 'missing', 'a stamp');
    return;
  }
  const {
    counts = {},
    tombstones = {},
    positions = {},
    position = 0,
    epochs,
    slice_partition,
    slice_end,
  } = stamp;
  const compareLeast = (what: string, stored: number, least: number) =>
    compare(what, stored >= least ? `at least ${least}` : stored, `at least ${least}`);
  compare('whose stamp it is', stamp.store_id === stamp._id ? 'its store' : 'another', 'its store');
  compare('timezone_offset', stamp.timezone_offset ?? 'none', counted.timezoneOffset ?? 'none');
  for (const entity of ENTITY_NAMES) {
    const { records, tombstones: gone, position: highest } = counted.kinds[entity];
    compare(`number of ${COLLECTIONS[entity]}`, counts[entity] ?? 0, records);
    compare(`tombstones of ${COLLECTIONS[entity]}`, tombstones[entity] ?? 0, gone);
    // Each record, there or gone, came with an event.
    compareLeast(`events of ${COLLECTIONS[entity]}`, stamp[entity] ?? 0, records + gone);
    compareLeast(`last position of ${COLLECTIONS[entity]}`, positions[entity] ?? 0, highest);
  }
  compareLeast('last position', position, lastPosition(positions, counted));
  const isSlice = (slice_partition === undefined) === (slice_end === undefined);
  compare('whose slice wrote it last', isSlice ? 'a slice' : 'no slice', 'a slice');
  compare('epochs', areEpochs(epochs, position) ? 'a list' : 'no list', 'a list');
}

/** The highest position of the records and of a stamp's `positions`, which may be malformed. */
function lastPosition(positions: unknown, { kinds }: CountedStore): number {
  return Math.max(
    ...ENTITY_NAMES.flatMap((entity) => [kinds[entity].position, countIn(positions, entity)]),
  );
}

/** A count among members that may be malformed; else 0. */
function countIn(members: unknown, name: string): number {
  const value = (members as Partial<Record<string, unknown>> | null | undefined)?.[name];
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}

const EPOCHS = /^[\w-]+:[0-9a-z]+(?:,[\w-]+:[0-9a-z]+)*$/;

function areEpochs(text: unknown, position: number): boolean {
  if (text === undefined) return position === 0;
  if (typeof text !== 'string' || !EPOCHS.test(text)) return false;
  let last = 1;
  return epochsIn(text).every(({ from }) => {
    const follows = from >= last && from <= position + 1;
    last = from;
    return follows;
  });
}

type CountedStore = Awaited<ReturnType<typeof countStore>>;

/** Counts a store's records in the session's snapshot. */
async function countStore(db: Db, session: ClientSession, storeId: string) {
  const kinds = {} as Record<EntityName, { records: number; tombstones: number; position: number }>;
  for (const entity of ENTITY_NAMES) {
    const records = db.collection<ReadModelDocument>(COLLECTIONS[entity]);
    const tombstones = tombstonesIn(db);
    const ofStore = recordsOf(entity, storeId);
    const present = await records.countDocuments(ofStore, { session });
    const gone = await tombstones.countDocuments({ store_id: storeId, entity }, { session });
    const last = {
      session,
      sort: { feed_position: -1 },
      projection: { feed_position: 1 },
    } as const;
    const [record, tombstone] = [
      await records.findOne({ ...ofStore, feed_position: POSSIBLE }, last),
      await tombstones.findOne({ store_id: storeId, entity, feed_position: POSSIBLE }, last),
    ];
    // 0 if none has one.
    const position = Math.ceil(Math.max(record?.feed_position ?? 0, tombstone?.feed_position ?? 0));
    kinds[entity] = { records: present, tombstones: gone, position };
  }
  const own = await db
    .collection<StoreDocument>(COLLECTIONS.store)
    .findOne({ _id: documentId(storeId, storeId) }, { session, projection: { summary: 1 } });
  const timezoneOffset = own === null ? null : (OFFSET.exec(own.summary)?.[1] ?? null);
  return { kinds, timezoneOffset };
}

/** Only numbers: other values are damage, and no last position. */
const POSSIBLE = { $lte: Number.MAX_SAFE_INTEGER };

/** Within a text a quote has a backslash before it. */
const OFFSET = /(?<=[{,])"timezone_offset":"([^"\\]*)"/;

/**
 * In one transaction, which conflicts with slices.
 * @param findErased finds an erasure of the store: events from before it stay skipped.
 */
export async function repairStore(db: Db, storeId: string, findErased: FindErased): Promise<void> {
  // Before the transaction, which cannot read a union of collections. A record that changes
  // meanwhile takes one position more.
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
        const { _id, ...stamp } = await positionedStamp(
          db,
          session,
          storeId,
          before ?? {},
          damaged,
        );
        const layout = nextVersion();
        const erasing = await repairErasures(db, session, storeId);
        const replacement = {
          ...stamp,
          ...(erasing && { erasing: true as const }),
          ...(erased_at !== undefined && { erased_at }),
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
 * Each damaged position becomes a new one behind all given ones, under a new epoch: the projector
 * that gave the last one before would give the same ones to other records.
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
 * Event counters move to unused values, so that ETags of wrong answers never match. Positions are
 * never given twice. An unreadable list of epochs begins again.
 */
function stampOf(storeId: string, before: Partial<Stamp>, counted: CountedStore): Stamp {
  const { timezoneOffset, kinds } = counted;
  const now = Date.now();
  const perEntity = (count: (entity: EntityName) => number) =>
    Object.fromEntries(
      ENTITY_NAMES.map((entity) => [entity, count(entity)] as const).filter(([, some]) => some > 0),
    );
  const stamp: Stamp = {
    _id: storeId,
    store_id: storeId,
    counts: perEntity((entity) => kinds[entity].records),
    tombstones: perEntity((entity) => kinds[entity].tombstones),
    positions: perEntity((entity) =>
      Math.max(countIn(before.positions, entity), kinds[entity].position),
    ),
    ...perEntity((entity) => Math.max(countIn(before, entity) + 1, now)),
  };
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
  return stamp;
}

/** Writes a tree's nodes anew. @returns its root; `null` if it has no records. */
async function rebuildTree(transaction: TreeTransaction): Promise<Root | null> {
  const { db, session, tree, storeId } = transaction;
  const nodes = nodesIn(db);
  const loaded = await buildTree(transaction);
  const { total, counts } = loaded.counted;
  if (total <= tree.leafRecords) {
    // So few that the root alone has all counts.
    await nodes.deleteMany(nodesOf(tree.name, storeId), { session });
    return total === 0 ? null : { counts };
  }
  await nodes.insertMany(loaded.takeChanged(tree, storeId), { session, ordered: false });
  return { counts, leaves: loaded.leaves, levels: loaded.levels, version: nextVersion() };
}
