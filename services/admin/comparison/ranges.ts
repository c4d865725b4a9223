/** What is compared: the records of one store in two databases, each collection's in the order of their ids. */
import type { ClientSession, Db, Document } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities/index.ts';
import { CATEGORY_PRODUCTS, COLLECTIONS, TOMBSTONES } from '#shared/read-models/collections.ts';
import { withoutErased } from '#shared/read-models/erasures.ts';

/** One of two that are compared, as a session shows it. */
export interface Side {
  db: Db;
  session: ClientSession;
}

/** A part of a collection that belongs to one store. */
export interface Range {
  collection: string;
  /** Whose records; of counts the entity that is counted by. */
  entity: EntityName;
  /** Its ids begin with it. */
  prefix: string;
}

/** A record in a comparison: the version that it shows; counts have none. */
export interface Version {
  _id: string;
  sequence?: number;
}

/** Everything of a store that events lead to: records, counts of products and tombstones. */
export function rangesOf(storeId: string): Range[] {
  return [
    ...ENTITY_NAMES.map((entity) => ({ collection: COLLECTIONS[entity], entity, prefix: `${storeId}/` })),
    { collection: CATEGORY_PRODUCTS, entity: 'category', prefix: `${storeId}/` },
    ...ENTITY_NAMES.map((entity) => ({
      collection: TOMBSTONES,
      entity,
      prefix: `${entity}/${storeId}/`,
    })),
  ];
}

/** The ids and versions of a range, ids ascending. */
export function readVersions({ db, session }: Side, { collection, prefix }: Range): AsyncIterable<Version> {
  return db.collection<Version>(collection).find(
    // "0" follows "/": nothing of another store lies between.
    { _id: { $gte: prefix, $lt: `${prefix.slice(0, -1)}0` } },
    { session, sort: { _id: 1 }, projection: { sequence: 1 }, batchSize: 10_000 },
  );
}

/** Whole records by their ids, as they are shown. */
export async function readRecords(
  { db, session }: Side,
  collection: string,
  ids: readonly string[],
): Promise<Map<string, Document>> {
  const found = await db
    .collection<{ _id: string }>(collection)
    .find({ _id: { $in: [...ids] } }, { session })
    .toArray();
  const shown = await withoutErased(db, session, collection, found);
  return new Map(shown.map((record) => [record._id, record]));
}
