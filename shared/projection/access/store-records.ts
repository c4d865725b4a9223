/**
 * Whether a store is blocked, as its own record says: marked in the transaction that changes the record, and taken over into
 * the control database by the next sweep, whichever process is killed (decision 0005).
 */
import type { AnyBulkWriteOperation, ClientSession, Collection, Db } from 'mongodb';
import { applyStoreStatus, type StoreAccess } from '../../access/access-keys.ts';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  STORE_RECORDS_PENDING,
  type StoreDocument,
  type Tombstone,
  tombstoneId,
  TOMBSTONES,
  tombstonesWith,
} from '../../read-models/collections.ts';

interface PendingRecord {
  /** `<store id>/<version of the record>`: removing a mark never conflicts with setting the next one. */
  _id: string;
  store_id: string;
}

/** Marks stores whose records change in the session's transaction; `records` are their new versions by store id. */
export async function markStoreRecords(
  db: Db,
  session: ClientSession,
  records: ReadonlyMap<string, number>,
): Promise<void> {
  if (records.size === 0) return;
  const operations = [...records].map(([store_id, sequence]): AnyBulkWriteOperation<PendingRecord> => {
    const _id = `${store_id}/${sequence}`;
    return { updateOne: { filter: { _id }, update: { $setOnInsert: { store_id } }, upsert: true } };
  });
  await pendingRecords(db).bulkWrite(operations, { session, ordered: false });
}

/** Takes over the status of every store that is marked. */
export async function adoptStoreRecords(
  environment: string,
  db: Db,
  stores: Collection<StoreAccess>,
): Promise<void> {
  const marks = await pendingRecords(db).find().toArray();
  for (const [storeId, ofStore] of Map.groupBy(marks, ({ store_id }) => store_id)) {
    // As new as the newest of these marks, or newer.
    const { sequence, status } = await readRecord(db, storeId);
    if (sequence !== undefined) {
      await applyStoreStatus(stores, environment, { storeId, sequence, status }, 'record');
    }
    await pendingRecords(db).deleteMany({ _id: { $in: ofStore.map(({ _id }) => _id) } });
  }
}

/** A deleted record blocks no store. */
async function readRecord(
  db: Db,
  storeId: string,
): Promise<{ sequence: number | undefined; status: StoreDocument['status'] }> {
  const record = await db
    .collection<StoreDocument>(COLLECTIONS.store)
    .findOne({ _id: documentId(storeId, storeId) }, { projection: { status: 1, sequence: 1 } });
  if (record !== null) return record;
  const tombstone = await db
    .collection<Tombstone>(TOMBSTONES)
    .findOne(tombstonesWith([tombstoneId('store', storeId, storeId)]), { hint: BY_ID });
  return { sequence: tombstone?.sequence, status: 'active' };
}

function pendingRecords(db: Db): Collection<PendingRecord> {
  return db.collection(STORE_RECORDS_PENDING);
}
