/**
 * Applies a slice of the access topic in one transaction on the control database. A store's own record that blocks it is marked with the
 * record, and taken over by the next sweep (decision 0041).
 */
import { type ClientSession, type Db, ObjectId, type AnyBulkWriteOperation, type Collection } from 'mongodb';
import {
  type AccessKey,
  applyErasure,
  applyKeyChange,
  applyQuota,
  applyStoreStatus,
  type ControlCollections,
  controlCollections,
  type StoreAccess,
  validSecrets,
} from '../../access/access-keys.ts';
import { type AuditDetails, type AuditRecord, writeAudit } from '../../access/audit.ts';
import { findErasedIn } from '../../access/erased-stores.ts';
import { type AccessChange, type AccessKeyChange, readAccessChange } from '../../events/access-event.ts';
import { isId } from '../../events/fields.ts';
import { EventRejected } from '../../events/rejection.ts';
import { changesTopic } from '../../events/topics.ts';
import {
  type DeadLetter,
  BY_ID,
  COLLECTIONS,
  documentId,
  STORE_RECORDS_PENDING,
  type StoreDocument,
  tombstoneId,
  tombstonesWith,
  tombstonesIn,
} from '../../read-models/collections.ts';
import type { Slice } from '../slice/slice.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';

import { type LetterLimits, writeDeadLetters } from '../dead-letters/write.ts';

/** What changed must be published to Redis once it is committed. @param checkpoint as in `applyChanges`. */
export async function applyAccess(
  control: Db,
  environment: string,
  session: ClientSession,
  slice: Slice,
  limits: LetterLimits | null = null,
  checkpoint?: () => Promise<void>,
) {
  await checkpoint?.();
  const collections = controlCollections(control);
  const keys = new Map<string, AccessKey>();
  const stores = new Map<string, StoreAccess>();
  const audit: AuditRecord[] = [];
  const deadLetters: DeadLetter[] = [];
  let outdated = 0;
  const named = slice.messages.map(({ key }) => key?.toString('utf8') ?? '');
  // A key may be anything, and megabytes long.
  const erased = await findErasedIn(control, environment)(named.filter(isId));
  for (const [at, message] of slice.messages.entries()) {
    const isPassedBy = erased.passesBy(named[at] ?? '', slice, message);
    try {
      const change = readAccessChange(message);
      if (isPassedBy && givesRights(change)) {
        outdated += 1;
        continue;
      }
      if (change.kind === 'access_key') {
        const key = await applyKeyChange(collections.keys, environment, change, { session });
        if (key === null) outdated += 1;
        else {
          keys.set(key._id, key);
          audit.push(keyRecord(change, key));
        }
      } else {
        const store = await applyStoreChange(collections, environment, change, session);
        if (store === null) outdated += 1;
        else {
          stores.set(store._id, store);
          audit.push(storeRecord(change, store));
        }
      }
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      if (isPassedBy) outdated += 1;
      else deadLetters.push(toDeadLetter(slice.topic, slice.partition, message, error));
    }
  }
  await writeAudit(control, session, audit);
  await writeDeadLetters(control, session, deadLetters, limits);
  return { keys: [...keys.values()], stores: [...stores.values()], outdated, deadLetters };
}

type StoreChange = Exclude<AccessChange, AccessKeyChange>;

/** @returns the store's record as it is now if it changed, else `null`. */
function applyStoreChange(
  collections: ControlCollections,
  environment: string,
  change: StoreChange,
  session: ClientSession,
): Promise<StoreAccess | null> {
  if (change.kind === 'store_access') {
    return applyStoreStatus(collections.stores, environment, change, 'access', { session });
  }
  if (change.kind === 'store_quota') return applyQuota(collections.stores, environment, change, { session });
  const topic = changesTopic(environment);
  const ends = change.ends.map((end) => ({ topic, ...end, until: end.end }));
  return applyErasure(collections, environment, { ...change, ends }, session);
}

/** Of an erased store what takes rights away applies all the same: its keys stay revoked, and the store blocked. */
function givesRights(change: AccessChange): boolean {
  return change.kind === 'store_quota' || (change.kind === 'access_key' && change.status !== 'revoked');
}

/** Publishers choose these texts and can make them long. */
const MAX_TEXT = 200;

export function keyRecord(change: AccessKeyChange, key: AccessKey): AuditRecord {
  const { status, scopes, sequence, environment, store_id } = key;
  return {
    ...recordOf(change),
    action: 'event.access_key',
    environment,
    store_id,
    client_id: key._id,
    details: { status, scopes, secrets: validSecrets(key).length, sequence, event_id: cut(change.eventId) },
  };
}

export function storeRecord(change: StoreChange, { environment, store_id }: StoreAccess): AuditRecord {
  return {
    ...recordOf(change),
    action: `event.${change.kind}`,
    environment,
    store_id,
    details: { ...detailsOf(change), sequence: change.sequence, event_id: cut(change.eventId) },
  };
}

function detailsOf(change: StoreChange): AuditDetails {
  if (change.kind === 'store_access') return { status: change.status };
  if (change.kind === 'store_quota') return { ...change.quota };
  return { erased_at: change.at.toISOString() };
}

function recordOf({ source }: { source: string }): Pick<AuditRecord, '_id' | 'at' | 'actor' | 'phase'> {
  return { _id: new ObjectId(), at: new Date(), actor: cut(source), phase: 'applied' };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}

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

/** Takes over the status of every store that is marked. @returns how many marks there were. */
export async function adoptStoreRecords(environment: string, db: Db, stores: Collection<StoreAccess>): Promise<number> {
  const marks = await pendingRecords(db).find().toArray();
  for (const [storeId, ofStore] of Map.groupBy(marks, ({ store_id }) => store_id)) {
    // As new as the newest of these marks, or newer.
    const { sequence, status } = await readRecord(db, storeId);
    if (sequence !== undefined) {
      await applyStoreStatus(stores, environment, { storeId, sequence, status }, 'record');
    }
    await pendingRecords(db).deleteMany({ _id: { $in: ofStore.map(({ _id }) => _id) } });
  }
  return marks.length;
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
  const tombstone = await tombstonesIn(db).findOne(tombstonesWith([tombstoneId('store', storeId, storeId)]), {
    hint: BY_ID,
  });
  return { sequence: tombstone?.sequence, status: 'active' };
}

function pendingRecords(db: Db): Collection<PendingRecord> {
  return db.collection(STORE_RECORDS_PENDING);
}
