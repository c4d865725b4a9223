/**
 * Records and tombstones without a feed position of their own (rule R10.9). A repair gives them new
 * ones at the end.
 */
import type { ClientSession, Db, Document, Filter } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '../../events/entities.ts';
import {
  BY_ID,
  COLLECTIONS,
  type ReadModelDocument,
  recordsOf,
  type Tombstone,
  TOMBSTONES,
  writeAll,
} from '../../read-models/collections.ts';
import { collectionNamesCustomers, withoutErased } from '../../read-models/erasures.ts';
import { inBatches } from '../../waiting.ts';
import { type TakenPositions, takePosition } from '../slice/epochs.ts';

type Positioned = Pick<ReadModelDocument | Tombstone, '_id' | 'store_id' | 'feed_position'>;

export interface DamagedPosition {
  entity: EntityName;
  collection: string;
  _id: string;
  /** Whether another one has the same position. */
  isShared: boolean;
}

/** Values in one query, and documents in one write. */
const TOGETHER = 1_000;

const IS_POSITION = {
  $cond: [
    { $isNumber: '$_id' },
    {
      $and: [
        { $gte: ['$_id', 1] },
        { $lte: ['$_id', Number.MAX_SAFE_INTEGER] },
        { $eq: ['$_id', { $trunc: '$_id' }] },
      ],
    },
    false,
  ],
};

export async function findDamagedPositions(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<DamagedPosition[]> {
  const positionsOf = (filter: Document) => [
    { $match: filter },
    { $project: { _id: 0, feed_position: 1 } },
  ];
  const damaged = await db
    .collection(TOMBSTONES)
    .aggregate<{ _id: unknown; isPosition: boolean }>(
      [
        ...positionsOf({ store_id: storeId }),
        ...ENTITY_NAMES.map((entity) => ({
          $unionWith: {
            coll: COLLECTIONS[entity],
            pipeline: positionsOf(recordsOf(entity, storeId)),
          },
        })),
        { $group: { _id: '$feed_position', holders: { $sum: 1 } } },
        { $set: { isPosition: IS_POSITION } },
        { $match: { $or: [{ holders: { $gt: 1 } }, { isPosition: false }] } },
      ],
      { session, allowDiskUse: true },
    )
    .toArray();
  const found: DamagedPosition[] = [];
  for (const [isShared, ofKind] of Map.groupBy(damaged, ({ isPosition }) => isPosition)) {
    for await (const some of inBatches(ofKind, TOGETHER)) {
      const feed_position = { $in: some.map(({ _id }) => _id) };
      for (const entity of ENTITY_NAMES) {
        for (const [collection, filter] of [
          [COLLECTIONS[entity], recordsOf(entity, storeId)],
          [TOMBSTONES, { store_id: storeId, entity }],
        ] as const) {
          const holders = db
            .collection<Positioned>(collection)
            .find({ ...filter, feed_position } as Filter<Positioned>, {
              session,
              projection: { _id: 1 },
            });
          for await (const { _id } of holders) found.push({ entity, collection, _id, isShared });
        }
      }
    }
  }
  return found;
}

export function verifyPositions(
  damaged: readonly DamagedPosition[],
  compare: (what: string, stored: number, counted: number) => void,
): void {
  const named = damaged.map(({ entity, collection, isShared }) => {
    const records = collection === TOMBSTONES ? `tombstones of ${COLLECTIONS[entity]}` : collection;
    return `${records} ${isShared ? 'that share a feed position' : 'without a feed position'}`;
  });
  for (const [what, { length }] of Map.groupBy(named, (name) => name)) compare(what, length, 0);
}

/** Gives each a position of its own behind all that were given, in the session's transaction. */
export async function repairPositions(
  db: Db,
  session: ClientSession,
  storeId: string,
  damaged: readonly DamagedPosition[],
  taken: TakenPositions,
): Promise<void> {
  for (const [collection, ofCollection] of Map.groupBy(damaged, (one) => one.collection)) {
    const documents = db.collection<Positioned>(collection);
    for await (const some of inBatches(ofCollection, TOGETHER)) {
      const json = await shownJson(db, session, storeId, collection, some);
      const operations = some.map(({ _id, entity }) => ({
        updateOne: {
          filter: { _id, store_id: storeId },
          update: { $set: { ...json.get(_id), feed_position: takePosition(taken, entity) } },
          hint: BY_ID,
        },
      }));
      await writeAll(documents, operations, session);
    }
  }
}

/** Masks customers whose erasure is under way, since that skips records with new positions. */
async function shownJson(
  db: Db,
  session: ClientSession,
  storeId: string,
  collection: string,
  damaged: readonly DamagedPosition[],
): Promise<ReadonlyMap<string, { summary: string; whole: string }>> {
  if (!collectionNamesCustomers(collection)) return new Map();
  type Naming = ReadModelDocument & { whole: string };
  const found = await db
    .collection<Naming>(collection)
    .find(
      { store_id: storeId, _id: { $in: damaged.map(({ _id }) => _id) } },
      { session, hint: BY_ID },
    )
    .toArray();
  const positioned = found.map((one) =>
    Number.isSafeInteger(one.feed_position) ? one : { ...one, feed_position: 0 },
  );
  const shown = await withoutErased(db, session, collection, positioned);
  return new Map(shown.map(({ _id, summary, whole }) => [_id, { summary, whole }]));
}
