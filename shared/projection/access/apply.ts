/**
 * Applies a slice of the access topic in one transaction on the control database. The status of a
 * store's own record is marked in the transaction of that record, and adopted from there (decision
 * 0041).
 */
import { type ClientSession, type Collection, type Db, ObjectId } from 'mongodb';
import {
  type AccessRecord,
  applyErasure,
  applyKeyChange,
  applyQuota,
  applyRecordStatuses,
  applyStoreStatus,
  type ControlCollections,
  controlCollections,
  isKey,
  type PartitionEnd,
  type StoreAccess,
  validSecrets,
} from '../../access/access-keys.ts';
import { type AuditDetails, type AuditRecord, writeAudit } from '../../access/audit.ts';
import { findErasedIn } from '../../access/erased-stores.ts';
import { type AccessChange, readAccessChange } from '../../events/access-event.ts';
import { unavailable } from '../../errors.ts';
import { isId } from '../../events/fields.ts';
import { EventRejected } from '../../events/rejection.ts';
import { changesTopic } from '../../events/topics.ts';
import {
  type DeadLetter,
  COLLECTIONS,
  documentId,
  documentsWith,
  ONE_BATCH,
  STORE_RECORDS_PENDING,
  type StoreDocument,
  tombstoneId,
  findTombstones,
  writeAll,
} from '../../read-models/collections.ts';
import { inBatches, withTimeLimit } from '../../waiting.ts';
import type { Slice } from '../slice/checkpoint.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';

import { type LetterLimits, writeDeadLetters } from '../dead-letters/write.ts';

interface AccessOptions {
  /** Compares the ends of an erasure with the log of changes, as `judgeEnds` does. */
  judgeEnds: (
    ends: readonly Pick<PartitionEnd, 'partition' | 'end' | 'last'>[],
  ) => Promise<boolean[]>;
  limits?: LetterLimits;
  /** As in `applyChanges`. */
  checkpoint?: () => Promise<void>;
}

/** Far longer than Kafka needs to answer, and well within a transaction's time. */
const JUDGE_MS = 5_000;

/**
 * The records that changed must be published to Redis once it is committed.
 * @returns also the kinds of the events that took effect.
 */
export async function applyAccess(
  control: Db,
  environment: string,
  session: ClientSession,
  slice: Slice,
  { judgeEnds, limits, checkpoint }: AccessOptions,
) {
  await checkpoint?.();
  // While that log's Kafka is away ends count as they are: revocations do not wait for it.
  const away = () => unavailable('the log of changes is away');
  const judge: AccessOptions['judgeEnds'] = (ends) =>
    withTimeLimit(JUDGE_MS, away, () => judgeEnds(ends)).catch(() => ends.map(() => true));
  const collections = controlCollections(control);
  const changed = new Map<string, AccessRecord>();
  const audit: AuditRecord[] = [];
  const deadLetters: DeadLetter[] = [];
  const applied: AccessChange['kind'][] = [];
  let outdated = 0;
  const named = slice.messages.map(({ key }) => key?.toString('utf8') ?? '');
  // A message key may hold anything, also megabytes.
  const erased = await findErasedIn(control, environment)(named.filter(isId));
  for (const [at, message] of slice.messages.entries()) {
    const isSkipped = erased.skips(named[at] ?? '', slice, message);
    try {
      const change = readAccessChange(message);
      const isLeftOut = isSkipped && givesRights(change);
      const record = isLeftOut
        ? null
        : await applyChange(collections, environment, change, session, judge);
      if (record === null) outdated += 1;
      else {
        // Publishers choose the ids of keys.
        changed.set(`${isKey(record) ? 'key' : 'store'} ${record._id}`, record);
        applied.push(change.kind);
        audit.push(auditRecord(change, record));
      }
    } catch (error) {
      if (!(error instanceof EventRejected)) throw error;
      if (isSkipped) outdated += 1;
      else deadLetters.push(toDeadLetter(slice.topic, slice.partition, message, error));
    }
  }
  await writeAudit(control, session, audit);
  await writeDeadLetters(control, session, deadLetters, limits ?? null);
  return { changed: [...changed.values()], applied, outdated, deadLetters };
}

/** @returns the changed record of the key or store, or `null`. */
async function applyChange(
  collections: ControlCollections,
  environment: string,
  change: AccessChange,
  session: ClientSession,
  judge: AccessOptions['judgeEnds'],
): Promise<AccessRecord | null> {
  const { keys, stores } = collections;
  if (change.kind === 'access_key') return applyKeyChange(keys, environment, change, { session });
  if (change.kind === 'store_access')
    return applyStoreStatus(stores, environment, change, 'access', { session });
  if (change.kind === 'store_quota') return applyQuota(stores, environment, change, { session });
  const topic = changesTopic(environment);
  const isOfThisLog = await judge(change.ends);
  const ends = change.ends.map((one, at): PartitionEnd => ({
    topic,
    ...one,
    ...(!isOfThisLog[at] && { other_log: true }),
  }));
  return applyErasure(collections, environment, { ...change, ends }, session);
}

/**
 * Changes of an erased store that take rights away apply nevertheless: its keys stay revoked, and
 * the store blocked.
 */
function givesRights(change: AccessChange): boolean {
  return (
    change.kind === 'store_quota' || (change.kind === 'access_key' && change.status !== 'revoked')
  );
}

/** Publishers choose these texts and can make them long. */
const MAX_TEXT = 200;

function auditRecord(change: AccessChange, record: AccessRecord): AuditRecord {
  const { environment, store_id } = record;
  const { sequence } = isKey(record) ? record : change;
  return {
    _id: new ObjectId(),
    at: new Date(),
    actor: cut(change.source),
    phase: 'applied',
    action: `event.${change.kind}`,
    environment,
    store_id,
    ...(isKey(record) && { client_id: record._id }),
    details: { ...detailsOf(change, record), sequence, event_id: cut(change.eventId) },
  };
}

function detailsOf(change: AccessChange, record: AccessRecord): AuditDetails {
  if (isKey(record))
    return { status: record.status, scopes: record.scopes, secrets: validSecrets(record).length };
  if (change.kind === 'store_quota') return { ...change.quota };
  return change.kind === 'store_erasure'
    ? { erased_at: change.at.toISOString() }
    : { status: change.status };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}

interface PendingRecord {
  /**
   * `<store id>/<version of the record>`: removing a mark never conflicts with setting the next
   * one.
   */
  _id: string;
  store_id: string;
}

/**
 * Marks stores whose records change in the session's transaction; `records` are their new versions
 * by store id.
 */
export async function markStoreRecords(
  db: Db,
  session: ClientSession,
  records: ReadonlyMap<string, number>,
) {
  const operations = [...records].map(([store_id, sequence]) => ({
    updateOne: {
      filter: { _id: `${store_id}/${sequence}` },
      update: { $setOnInsert: { store_id } },
      upsert: true,
    },
  }));
  await writeAll(pendingRecords(db), operations, session);
}

/** Stores whose status is adopted together. */
const ADOPTED_TOGETHER = 500;

/**
 * Adopts the status of every marked store, those that were marked last first: after a flip a generation has the marks of all the time in
 * which it was not live.
 * @param adopted is called after each batch. @returns how many marks there were.
 */
export async function adoptStoreRecords(
  environment: string,
  db: Db,
  stores: Collection<StoreAccess>,
  adopted: () => void = () => undefined,
): Promise<number> {
  const marks = await pendingRecords(db)
    .find({}, { sort: { $natural: -1 }, batchSize: ONE_BATCH })
    .toArray();
  const marked = Map.groupBy(marks, ({ store_id }) => store_id);
  for await (const batch of inBatches(marked, ADOPTED_TOGETHER)) {
    // At least as new as the newest of these marks.
    const records = await readRecords(
      db,
      batch.map(([storeId]) => storeId),
    );
    await applyRecordStatuses(stores, environment, records);
    adopted();
    const done = batch.flatMap(([, ofStore]) => ofStore.map(({ _id }) => _id));
    await pendingRecords(db).deleteMany({ _id: { $in: done } });
  }
  return marks.length;
}

/** A deleted record blocks no store. */
async function readRecords(db: Db, storeIds: readonly string[]) {
  const ids = storeIds.map((storeId) => documentId(storeId, storeId));
  const options = {
    projection: { store_id: 1, status: 1, sequence: 1 },
    batchSize: ONE_BATCH,
  } as const;
  const found = await db
    .collection<StoreDocument>(COLLECTIONS.store)
    .find(documentsWith(ids), options)
    .toArray();
  const present = new Set(found.map(({ store_id }) => store_id));
  const deleted = storeIds.filter((storeId) => !present.has(storeId));
  const tombstones = await findTombstones(
    db,
    deleted.map((storeId) => tombstoneId('store', storeId, storeId)),
  );
  const gone = tombstones.map((tombstone) => ({ ...tombstone, status: 'active' as const }));
  return [...found, ...gone].map(({ store_id: storeId, ...record }) => ({ storeId, ...record }));
}

function pendingRecords(db: Db): Collection<PendingRecord> {
  return db.collection(STORE_RECORDS_PENDING);
}
