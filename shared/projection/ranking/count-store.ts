/** Counts what a store's stamp speaks of: the records of each kind, those that are gone, and the last positions they took. */
import type { ClientSession, Db } from 'mongodb';
import { ENTITY_NAMES, type EntityName } from '../../events/entities/index.ts';
import {
  COLLECTIONS,
  documentId,
  idsOfStore,
  type ReadModelDocument,
  type StoreDocument,
  type Tombstone,
  TOMBSTONES,
} from '../../read-models/collections.ts';

export interface CountedKind {
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
    const ofStore = { ...(entity === 'store' ? ownRecords(storeId) : {}), store_id: storeId };
    const present = await records.countDocuments(ofStore, { session });
    const gone = await tombstones.countDocuments({ store_id: storeId, entity }, { session });
    const last = { session, sort: { feed_position: -1 }, projection: { feed_position: 1 } } as const;
    const [record, tombstone] = [
      await records.findOne(ofStore, last),
      await tombstones.findOne({ store_id: storeId, entity }, last),
    ];
    const position = Math.max(record?.feed_position ?? 0, tombstone?.feed_position ?? 0);
    kinds.push([entity, { records: present, tombstones: gone, position }]);
  }
  const own = await db
    .collection<StoreDocument>(COLLECTIONS.store)
    .findOne({ _id: documentId(storeId, storeId) }, { session, projection: { summary: 1 } });
  const timezoneOffset = own === null ? null : (OFFSET.exec(own.summary)?.[1] ?? null);
  return { kinds: Object.fromEntries(kinds) as Record<EntityName, CountedKind>, timezoneOffset };
}

/** A quote in a text has a backslash before it. */
const OFFSET = /(?<=[{,])"timezone_offset":"([^"\\]*)"/;

/** The filter of stores' own records, of which there is no index by store. */
function ownRecords(storeId: string) {
  return { _id: idsOfStore(storeId) };
}
