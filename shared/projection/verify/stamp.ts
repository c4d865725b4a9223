/** Verifying a store's stamp, field by field, beside what is counted; the roots of trees are compared with these. */
import type { ClientSession, Db } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '../../events/entities/index.ts';
import {
  COLLECTIONS,
  documentId,
  type ReadModelDocument,
  recordsOf,
  type Stamp,
  type StoreDocument,
  type Tombstone,
  TOMBSTONES,
} from '../../read-models/collections.ts';
import { epochsIn } from '../../read-models/feed-epochs.ts';
import { RANK_TREES } from '../../read-models/rank-tree/trees.ts';
import { isObject } from '../rank-tree/node-shape.ts';
import type { Compare } from './tree.ts';

const ENTITIES: ReadonlySet<string> = new Set(ENTITY_NAMES);

/** All fields that a stamp may have. */
const FIELDS = {
  _id: true,
  store_id: true,
  timezone_offset: true,
  counts: true,
  tombstones: true,
  ranks: true,
  position: true,
  positions: true,
  epochs: true,
  slice_partition: true,
  slice_end: true,
  layout: true,
  erased_at: true,
  erasing: true,
} as const satisfies Record<Exclude<keyof Stamp, EntityName>, true>;

/** Compares a stamp, malformed ones too, with what its store's records count. */
export function verifyStamp(stamp: Stamp | null, counted: CountedStore, compare: Compare): void {
  if (stamp === null) {
    compare('the stamp', 'missing', 'a stamp');
    return;
  }
  const fields: Record<string, unknown> = { ...stamp };
  const { counts = {}, tombstones = {}, positions = {}, ranks = {} } = fields;
  const unknown = [
    ...Object.keys(fields).filter((field) => !(field in FIELDS) && !ENTITIES.has(field)),
    ...membersBeside(counts, ENTITIES),
    ...membersBeside(tombstones, ENTITIES),
    ...membersBeside(positions, ENTITIES),
    ...membersBeside(ranks, new Set(Object.keys(RANK_TREES))),
  ];
  compare('unknown fields of the stamp', unknown.length, 0);
  compare('whose stamp it is', fields['store_id'] === fields['_id'] ? 'its store' : 'another', 'its store');
  compare('timezone_offset', textOf(fields['timezone_offset']), counted.timezoneOffset ?? 'none');
  for (const entity of ENTITY_NAMES) {
    const { records, tombstones: gone, position } = counted.kinds[entity];
    compare(`number of ${COLLECTIONS[entity]}`, numberIn(counts, entity), records);
    compare(`tombstones of ${COLLECTIONS[entity]}`, numberIn(tombstones, entity), gone);
    // Each record, there or gone, came with an event.
    compareLeast(`events of ${COLLECTIONS[entity]}`, numberIn(fields, entity), records + gone, compare);
    compareLeast(`last position of ${COLLECTIONS[entity]}`, numberIn(positions, entity), position, compare);
  }
  compareLeast('last position', numberIn(fields, 'position'), lastPosition(fields, counted), compare);
  const ofSlice = [fields['slice_partition'], fields['slice_end']];
  const isSlice = ofSlice.every(isAbsent) || ofSlice.every((value) => Number.isSafeInteger(value));
  compare('whose slice wrote it last', isSlice ? 'a slice' : 'no slice', 'a slice');
  const isLayout = isAbsent(fields['layout']) || typeof fields['layout'] === 'string';
  compare('version of the layout', isLayout ? 'a text' : 'no text', 'a text');
  const isErasing = isAbsent(fields['erasing']) || fields['erasing'] === true;
  compare('mark of erasures', isErasing ? 'a mark' : 'no mark', 'a mark');
  compare('epochs', areEpochs(fields['epochs'], fields['position']) ? 'a list' : 'no list', 'a list');
}

/** The last position that was given, by what the records and the stamp's kinds say. */
export function lastPosition(stamp: object, { kinds }: CountedStore): number {
  const { positions } = stamp as Record<string, unknown>;
  const given = ENTITY_NAMES.flatMap((entity) => {
    const stored = numberIn(positions, entity);
    return [kinds[entity].position, typeof stored === 'number' ? stored : 0];
  });
  return Math.max(...given);
}

/** Whether a text lists epochs that gave the positions up to the last one. */
export function areEpochs(text: unknown, position: unknown): boolean {
  if (text === undefined) return (position ?? 0) === 0;
  if (typeof text !== 'string' || typeof position !== 'number' || !EPOCHS.test(text)) return false;
  let last = 1;
  return epochsIn(text).every(({ from }) => {
    const follows = from >= last && from <= position + 1;
    last = from;
    return follows;
  });
}

const EPOCHS = /^[\w-]+:[0-9a-z]+(?:,[\w-]+:[0-9a-z]+)*$/;

/** A count of a stamp, 0 where it has none; what else lies there, in words. */
export function numberIn(members: unknown, name: string): number | string {
  const value = isObject(members) ? members[name] : members;
  if (isObject(members) && value === undefined) return 0;
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 'no number';
}

function compareLeast(what: string, stored: number | string, least: number, compare: Compare): void {
  const isEnough = typeof stored === 'number' && stored >= least;
  compare(what, isEnough ? `at least ${least}` : stored, `at least ${least}`);
}

function membersBeside(members: unknown, known: ReadonlySet<string>): string[] {
  return isObject(members) ? Object.keys(members).filter((name) => !known.has(name)) : ['no members'];
}

function isAbsent(value: unknown): boolean {
  return value === undefined;
}

function textOf(value: unknown): string {
  if (value === undefined) return 'none';
  return typeof value === 'string' ? value : 'no text';
}

interface CountedKind {
  records: number;
  tombstones: number;
  /** The highest that a record or a tombstone has; 0 where none has one. */
  position: number;
}

export interface CountedStore {
  kinds: Record<EntityName, CountedKind>;
  /** What the store's own record says; `null` where there is none. */
  timezoneOffset: string | null;
}

/** Counts a store's records in the session's snapshot. */
export async function countStore(db: Db, session: ClientSession, storeId: string): Promise<CountedStore> {
  const kinds: [EntityName, CountedKind][] = [];
  for (const entity of ENTITY_NAMES) {
    const records = db.collection<ReadModelDocument>(COLLECTIONS[entity]);
    const tombstones = db.collection<Tombstone>(TOMBSTONES);
    const ofStore = recordsOf(entity, storeId);
    const present = await records.countDocuments(ofStore, { session });
    const gone = await tombstones.countDocuments({ store_id: storeId, entity }, { session });
    const last = { session, sort: { feed_position: -1 }, projection: { feed_position: 1 } } as const;
    const [record, tombstone] = [
      await records.findOne({ ...ofStore, feed_position: POSSIBLE }, last),
      await tombstones.findOne({ store_id: storeId, entity, feed_position: POSSIBLE }, last),
    ];
    const position = Math.ceil(Math.max(record?.feed_position ?? 0, tombstone?.feed_position ?? 0));
    kinds.push([entity, { records: present, tombstones: gone, position }]);
  }
  const own = await db
    .collection<StoreDocument>(COLLECTIONS.store)
    .findOne({ _id: documentId(storeId, storeId) }, { session, projection: { summary: 1 } });
  const timezoneOffset = own === null ? null : (OFFSET.exec(own.summary)?.[1] ?? null);
  return { kinds: Object.fromEntries(kinds) as Record<EntityName, CountedKind>, timezoneOffset };
}

/** Numbers alone: what else lies there is damage, and no last position. */
const POSSIBLE = { $lte: Number.MAX_SAFE_INTEGER };

/** A quote in a text has a backslash before it. */
const OFFSET = /(?<=[{,])"timezone_offset":"([^"\\]*)"/;
