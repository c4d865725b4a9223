/** Compares a store's counts, rank trees and feed positions with its records, in one snapshot, while projectors work. */
import { ENTITY_NAMES, type EntityName } from '../../events/entities.ts';
import {
  CATEGORY_PRODUCTS,
  type CategoryProducts,
  COLLECTIONS,
  documentId,
  type ReadModelDocument,
  recordsOf,
  type Stamp,
  type StoreDocument,
  stampsIn,
  tombstonesIn,
} from '../../read-models/collections.ts';
import { epochsIn } from '../../read-models/feed-epochs.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { verifyErasures } from '../erasure/erase.ts';
import { countByCategory, countsOf } from '../pipeline/layouts.ts';
import { CLOSED, RootShape, shapeCheck } from '../rank-tree/node-shape.ts';
import { findDamagedPositions, verifyPositions } from './positions.ts';
import { type Compare, verifyTree } from './tree.ts';
import type { ClientSession, Db } from 'mongodb';
import { type TSchema, Type } from 'typebox';

export interface Difference {
  storeId: string;
  /** The count, root or node that differs. It never holds a key, which may be a name. */
  what: string;
  stored: string;
  counted: string;
}

export async function verifyStore(db: Db, session: ClientSession, storeId: string): Promise<Difference[]> {
  const stamp = await stampsIn(db).findOne({ _id: storeId }, { session });
  const differences: Difference[] = [];
  const compare: Compare = (what, stored, counted) => {
    if (stored !== counted) differences.push({ storeId, what, stored: `${stored}`, counted: `${counted}` });
  };
  verifyStamp(stamp, await countStore(db, session, storeId), compare);
  const stored = await db
    .collection<CategoryProducts>(CATEGORY_PRODUCTS)
    .find(countsOf(storeId), { session, batchSize: 10_000 })
    .toArray();
  const named = new Map(stored.map(({ _id, products }) => [_id, products]));
  const counted = await countByCategory(db, session, storeId);
  for (const id of new Set([...named.keys(), ...counted.keys()])) {
    const category = id.slice(storeId.length + 1);
    const what = category === '' ? 'products without a category' : `products of category ${category}`;
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

const damageOfStamp = shapeCheck(Type.Object({ ...FIELDS, ...optionalOf(ENTITY_NAMES, Count) }, CLOSED));

/** Compares a stamp with its store's records. A malformed one is only reported as such: a repair makes it anew. */
export function verifyStamp(stamp: Stamp | null, counted: CountedStore, compare: Compare): void {
  const damage = stamp === null ? 'missing' : damageOfStamp(stamp);
  if (stamp === null || damage !== null) {
    compare('the stamp', damage ?? 'missing', 'a stamp');
    return;
  }
  const { counts = {}, tombstones = {}, positions = {}, position = 0, epochs, slice_partition, slice_end } = stamp;
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
export function lastPosition(positions: unknown, { kinds }: CountedStore): number {
  return Math.max(...ENTITY_NAMES.flatMap((entity) => [kinds[entity].position, countIn(positions, entity)]));
}

/** A count among members that may be malformed; else 0. */
export function countIn(members: unknown, name: string): number {
  const value = (members as Partial<Record<string, unknown>> | null | undefined)?.[name];
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}

const EPOCHS = /^[\w-]+:[0-9a-z]+(?:,[\w-]+:[0-9a-z]+)*$/;

export function areEpochs(text: unknown, position: number): boolean {
  if (text === undefined) return position === 0;
  if (typeof text !== 'string' || !EPOCHS.test(text)) return false;
  let last = 1;
  return epochsIn(text).every(({ from }) => {
    const follows = from >= last && from <= position + 1;
    last = from;
    return follows;
  });
}

export type CountedStore = Awaited<ReturnType<typeof countStore>>;

/** Counts a store's records in the session's snapshot. */
export async function countStore(db: Db, session: ClientSession, storeId: string) {
  const kinds = {} as Record<EntityName, { records: number; tombstones: number; position: number }>;
  for (const entity of ENTITY_NAMES) {
    const records = db.collection<ReadModelDocument>(COLLECTIONS[entity]);
    const tombstones = tombstonesIn(db);
    const ofStore = recordsOf(entity, storeId);
    const present = await records.countDocuments(ofStore, { session });
    const gone = await tombstones.countDocuments({ store_id: storeId, entity }, { session });
    const last = { session, sort: { feed_position: -1 }, projection: { feed_position: 1 } } as const;
    const [record, tombstone] = [
      await records.findOne({ ...ofStore, feed_position: POSSIBLE }, last),
      await tombstones.findOne({ store_id: storeId, entity, feed_position: POSSIBLE }, last),
    ];
    // 0 where none has one.
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
