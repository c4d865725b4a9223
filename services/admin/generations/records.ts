/** The stores and records of two generations, as a comparison reads them. */
import type { ClientSession, Db, Document } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import {
  CATEGORY_PRODUCTS,
  COLLECTIONS,
  RANK_NODES,
  STAMPS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { withoutErased } from '#shared/read-models/erasures.ts';
import { jsonOf, SHIFTED_FIELDS, shiftJson } from '#shared/records/stored-json.ts';
import { idsBelow } from '#shared/read-models/rank-tree/keys.ts';
import { nodesOf } from '#shared/read-models/rank-tree/nodes.ts';
import { RANK_TREES } from '#shared/read-models/rank-tree/trees.ts';
import { inBatches } from '#shared/waiting.ts';

/** The ids of the stores that have documents. @param only this one. */
export async function storesIn(db: Db, only?: string): Promise<Set<string>> {
  const stores = new Set<string>();
  for (const name of [STAMPS, ...ENTITY_NAMES.map((entity) => COLLECTIONS[entity])]) {
    // An `_id` is a store's, or begins with it.
    const field = name === STAMPS ? '_id' : 'store_id';
    const found: unknown[] = await db
      .collection(name)
      .distinct(field, only === undefined ? {} : { [field]: only });
    for (const store of found) if (typeof store === 'string') stores.add(store);
  }
  const ofNodes = db.collection(RANK_NODES).aggregate<{ _id: unknown }>([
    {
      $match:
        only === undefined
          ? {}
          : { $or: Object.values(RANK_TREES).map(({ name }) => nodesOf(name, only)) },
    },
    // From the index of `_id` alone: `<tree>/<store id>/…`.
    { $project: { store: { $arrayElemAt: [{ $split: ['$_id', '/'] }, 1] } } },
    { $group: { _id: '$store' } },
  ]);
  for await (const { _id } of ofNodes) if (typeof _id === 'string') stores.add(_id);
  return stores;
}

/** A database, in a session. */
export interface Side {
  db: Db;
  session: ClientSession;
}

/** The two databases that are compared. */
export interface Sides {
  expected: Side;
  actual: Side;
}

/** A part of a collection that belongs to one store. */
interface Range {
  collection: string;
  /** The entity of its records; of counts the one they belong to. */
  entity: EntityName;
  /** The part of its ids before the slash and the entity's id. */
  owner: string;
}

/** The version of a record; counts have none. */
interface Version {
  _id: string;
  sequence?: number;
}

/** All that events of a store write: records, counts of products and tombstones. */
export function rangesOf(storeId: string): Range[] {
  return [
    ...ENTITY_NAMES.map((entity) => ({ collection: COLLECTIONS[entity], entity, owner: storeId })),
    { collection: CATEGORY_PRODUCTS, entity: 'category', owner: storeId },
    ...ENTITY_NAMES.map((entity) => ({
      collection: TOMBSTONES,
      entity,
      owner: `${entity}/${storeId}`,
    })),
  ];
}

function readVersions({ db, session }: Side, { collection, owner }: Range) {
  const options = {
    session,
    sort: { _id: 1 },
    projection: { sequence: 1 },
    batchSize: 10_000,
  } as const;
  return db.collection<Version>(collection).find({ _id: idsBelow(owner) }, options);
}

async function readRecords({ db, session }: Side, collection: string, ids: readonly string[]) {
  const found = await db
    .collection<{ _id: string }>(collection)
    .find({ _id: { $in: [...ids] } }, { session })
    .toArray();
  const shown = await withoutErased(db, session, collection, found);
  return new Map(shown.map((record) => [record._id, record]));
}

/** A record's fields as texts that are equal where its answers are equal. */
export type Content = ReadonlyMap<string, string>;

/** The content of a record, with its JSON shifted to an offset. */
function contentOf(record: Document, offset: string): Content {
  // Each generation has its own feed positions.
  const { offset: madeFor, feed_position: _place, ...fields } = record;
  return new Map(
    Object.entries(fields).map(([name, value]) => {
      const json = typeof value === 'string' ? jsonOf(name, value) : null;
      if (json !== null && typeof madeFor === 'string')
        return [name, shiftJson(json, madeFor, offset)];
      // A product without a category has the position Infinity, which JSON lacks.
      return [name, typeof value === 'number' ? String(value) : JSON.stringify(value)];
    }),
  );
}

/** The names of the fields that differ, of JSON with the member: `whole.total`. Never values. */
export function differingFields(a: Content, b: Content): string[] {
  return differingNames(a, b).flatMap((name) => {
    const [before, after] = SHIFTED_FIELDS.includes(name)
      ? [a, b].map((one) => membersOf(one.get(name)))
      : [];
    const members = before && after ? differingNames(before, after) : [];
    return members.length > 0 ? members.map((member) => `${name}.${member}`) : [name];
  });
}

function differingNames(a: Content, b: Content): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name));
}

/** The members of an object in JSON; `null` if that is damaged. */
function membersOf(text = '{}'): Content | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
    return new Map(Object.entries(parsed).map(([name, value]) => [name, JSON.stringify(value)]));
  } catch {
    return null;
  }
}

const RECORDS_BATCH = 200;

/** Which side lacks the record, or whether the versions or the contents of one version differ. */
export type DifferenceKind = 'missing' | 'added' | 'version' | 'content';

/**
 * @param stride the whole content of one record in so many is compared; tombstones have none.
 * @param offset to which JSON is shifted.
 */
export async function scanRange(sides: Sides, range: Range, stride: number, offset: string) {
  const result = { expected: 0, actual: 0, sampled: 0, differing: [] as Wanted[] };
  const hasContent = range.collection !== TOMBSTONES;
  /** Notes the records whose versions differ; yields the sample of the others. */
  async function* compareVersions() {
    const [ours, theirs] = [readVersions(sides.expected, range), readVersions(sides.actual, range)];
    let [one, other] = [await ours.next(), await theirs.next()];
    while (one !== null || other !== null) {
      // Ids are ASCII: MongoDB and JavaScript order them alike.
      const isOurs = one !== null && (other === null || one._id <= other._id);
      const isTheirs = other !== null && (one === null || other._id <= one._id);
      const record = { id: (isOurs ? one : other)?._id ?? '', offset };
      if (isOurs) result.expected += 1;
      if (isTheirs) result.actual += 1;
      if (!isOurs || !isTheirs || one?.sequence !== other?.sequence) result.differing.push(record);
      else if (hasContent && result.expected % stride === 0) yield record;
      if (isOurs) one = await ours.next();
      if (isTheirs) other = await theirs.next();
    }
  }
  const compared = readContents(sides, range.collection, compareVersions());
  for await (const { record, one, other } of compared) {
    result.sampled += 1;
    if (differingFields(one, other).length > 0) result.differing.push(record);
  }
  return result;
}

export interface Wanted {
  id: string;
  offset: string;
}

/** One record on both sides; empty if a side lacks it. */
export interface Contents {
  one: Content;
  other: Content;
}

/** The contents of records of one collection, in their order. */
export async function* readContents<W extends Wanted>(
  { expected, actual }: Sides,
  collection: string,
  records: AsyncIterable<W> | Iterable<W>,
): AsyncGenerator<Contents & { record: W }> {
  for await (const part of inBatches(records, RECORDS_BATCH)) {
    const ids = part.map(({ id }) => id);
    const ours = await readRecords(expected, collection, ids);
    const theirs = await readRecords(actual, collection, ids);
    for (const record of part) {
      yield {
        record,
        one: contentOf(ours.get(record.id) ?? {}, record.offset),
        other: contentOf(theirs.get(record.id) ?? {}, record.offset),
      };
    }
  }
}

export function kindOf({ one, other }: Contents): DifferenceKind {
  if (other.size === 0) return 'missing';
  if (one.size === 0) return 'added';
  return one.get('sequence') === other.get('sequence') ? 'content' : 'version';
}
