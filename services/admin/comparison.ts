/** The stores that a comparison covers, and the snapshots in which it reads them. */
import type { ClientSession, Db, Document } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import {
  COLLECTIONS,
  RANK_NODES,
  STAMPS,
  CATEGORY_PRODUCTS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import { withoutErased } from '#shared/read-models/erasures.ts';
import { SHIFTED_FIELDS, jsonOf, shiftJson } from '#shared/read-models/local-time.ts';

/** The stores' ids. */
export async function storesIn(db: Db): Promise<Set<string>> {
  const stores = new Set<string>();
  for (const name of [STAMPS, ...ENTITY_NAMES.map((entity) => COLLECTIONS[entity])]) {
    // An `_id` is a store's, or begins with it.
    const ids = name === STAMPS ? '_id' : 'store_id';
    const found: unknown[] = await db.collection(name).distinct(ids);
    for (const store of found) if (typeof store === 'string') stores.add(store);
  }
  const ofNodes = db.collection(RANK_NODES).aggregate<{ _id: unknown }>([
    // Nothing but the `_id`, whose index has them all: `<tree>/<store id>/…`.
    { $project: { store: { $arrayElemAt: [{ $split: ['$_id', '/'] }, 1] } } },
    { $group: { _id: '$store' } },
  ]);
  for await (const { _id } of ofNodes) if (typeof _id === 'string') stores.add(_id);
  return stores;
}

/** Whether anything is stored of a store. */
export async function hasAnything(db: Db, storeId: string): Promise<boolean> {
  const places = [
    { name: STAMPS, filter: { _id: storeId as never } },
    ...ENTITY_NAMES.map((entity) => ({ name: COLLECTIONS[entity], filter: { store_id: storeId } })),
    { name: RANK_NODES, filter: { store_id: storeId } },
  ];
  for (const { name, filter } of places) {
    if ((await db.collection(name).findOne(filter, { projection: { _id: 1 } })) !== null) return true;
  }
  return false;
}

/** One of two that are compared, as a session shows it. */
export interface Side {
  db: Db;
  session: ClientSession;
}

/** A part of a collection that belongs to one store. */
interface Range {
  collection: string;
  /** Whose records; of counts the entity that is counted by. */
  entity: EntityName;
  /** Its ids begin with it. */
  prefix: string;
}

/** A record in a comparison: the version that it shows; counts have none. */
interface Version {
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
function readVersions({ db, session }: Side, { collection, prefix }: Range): AsyncIterable<Version> {
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

/** A record's fields as texts that are equal where its answers are. */
export type Content = ReadonlyMap<string, string>;

/** The content of a record, its bodies as they read under an offset. */
export function contentOf(record: Document, offset: string): Content {
  // The place in the change feed is each generation's own.
  const { offset: madeFor, feed_position: _place, ...fields } = record;
  return new Map(
    Object.entries(fields).map(([name, value]) => {
      const json = typeof value === 'string' ? jsonOf(name, value) : null;
      if (json === null || typeof madeFor !== 'string') return [name, asText(value)];
      return [name, shiftJson(json, madeFor, offset)];
    }),
  );
}

/** Names of the fields that differ, those of bodies with the member: `whole.total`. Never what they hold. */
export function differingFields(a: Content, b: Content): string[] {
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].flatMap((name) => {
    const one = a.get(name);
    const other = b.get(name);
    if (one === other) return [];
    const members = SHIFTED_FIELDS.includes(name) ? differingMembers(one, other) : [];
    return members.length > 0 ? members.map((member) => `${name}.${member}`) : [name];
  });
}

function differingMembers(one: string | undefined, other: string | undefined): string[] {
  const [a, b] = [one, other].map(objectIn);
  if (a === null || a === undefined || b === null || b === undefined) return [];
  const before = new Map(Object.entries(a).map(([name, value]) => [name, JSON.stringify(value)]));
  const after = new Map(Object.entries(b).map(([name, value]) => [name, JSON.stringify(value)]));
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
}

/** The object that a body is; `null` where it is damaged. */
function objectIn(text: string | undefined): object | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    return typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function asText(value: unknown): string {
  // JSON has no infinity, and a product without a category has that position.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

const RECORDS_BATCH = 200;

/** What differs: which side lacks the record, or whether versions or the contents of one version are different. */
export type DifferenceKind = 'missing' | 'added' | 'version' | 'content';

interface Scanned {
  /** Records of each side. */
  expected: number;
  actual: number;
  /** Records whose whole content was compared. */
  sampled: number;
  differing: string[];
}

/**
 * Compares the records of a range.
 * @param stride the whole content is compared of one record in so many.
 * @param offset for which bodies are compared.
 */
export async function scanRange(
  expected: Side,
  actual: Side,
  range: Range,
  { stride, offset }: { stride: number; offset: string },
): Promise<Scanned> {
  const result: Scanned = { expected: 0, actual: 0, sampled: 0, differing: [] };
  const sample: Wanted[] = [];
  const compareSample = async () => {
    for await (const { record, one, other } of readContents(expected, actual, range.collection, sample)) {
      if (differingFields(one, other).length > 0) result.differing.push(record.id);
    }
    result.sampled += sample.length;
    sample.length = 0;
  };
  for await (const [one, other] of pairs(readVersions(expected, range), readVersions(actual, range))) {
    if (one !== null) result.expected += 1;
    if (other !== null) result.actual += 1;
    if (one?.sequence !== other?.sequence || one === null || other === null) {
      result.differing.push((one ?? other)?._id ?? '');
    } else if (result.expected % stride === 0) {
      sample.push({ id: one._id, offset });
      if (sample.length === RECORDS_BATCH) await compareSample();
    }
  }
  await compareSample();
  return result;
}

/** A record that is compared, its bodies under an offset. */
export interface Wanted {
  id: string;
  offset: string;
}

/** One record as both sides show it; empty where a side does not have it. */
export interface Contents {
  one: Content;
  other: Content;
}

/** Records of one collection with all that they answer, in their order. */
export async function* readContents<W extends Wanted>(
  expected: Side,
  actual: Side,
  collection: string,
  records: readonly W[],
): AsyncGenerator<Contents & { record: W }> {
  for (let start = 0; start < records.length; start += RECORDS_BATCH) {
    const part = records.slice(start, start + RECORDS_BATCH);
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

/** What differs in a record that differs. */
export function kindOf({ one, other }: Contents): DifferenceKind {
  if (other.size === 0) return 'missing';
  if (one.size === 0) return 'added';
  return one.get('sequence') === other.get('sequence') ? 'content' : 'version';
}

/** Walks two ordered lists side by side. */
async function* pairs(
  first: AsyncIterable<Version>,
  second: AsyncIterable<Version>,
): AsyncGenerator<[Version | null, Version | null]> {
  const others = second[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await others.next();
    return done === true ? null : value;
  };
  let other = await next();
  for await (const one of first) {
    while (other !== null && compareBytes(other._id, one._id) < 0) {
      yield [null, other];
      other = await next();
    }
    if (other?._id === one._id) {
      yield [one, other];
      other = await next();
    } else {
      yield [one, null];
    }
  }
  while (other !== null) {
    yield [null, other];
    other = await next();
  }
}

/** As MongoDB orders ids, which are ASCII. */
function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
