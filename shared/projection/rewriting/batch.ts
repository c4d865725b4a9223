/**
 * Rewrites some documents of one store. Documents and offset come from one snapshot, and every write asks for the very bodies
 * that were read: so whatever else has happened to a document meanwhile (a newer version, an erasure, a deletion, another
 * offset) wins, and whoever comes late or twice does no harm.
 */
import type { AnyBulkWriteOperation, Db, Document } from 'mongodb';
import { BODY_FIELDS } from '../../read-models/bodies.ts';
import { BY_ID, idsOfStore, type Stamp, STAMPS } from '../../read-models/collections.ts';
import { DEFAULT_OFFSET, EXACT, isReversible, shiftBody } from '../../read-models/local-time.ts';

/** Bodies of so many bytes are enough for one batch, however few documents they are: option groups are large. */
const MOST_BYTES = 1_048_576;

/** MongoDB takes 16 MiB for one write, which holds what a body was and what it becomes. */
const MOST_IN_ONE_WRITE = 7 * 1_048_576;

const LIMITS = { maxTimeMS: 5_000 };

/** What the bodies of a document are kept in, as far as the batch needs it. */
type Row = { _id: string; offset: string } & Record<string, string>;
type StampRow = Pick<Stamp, '_id' | 'timezone_offset'> & { offset?: undefined };

export interface Batch {
  collection: string;
  storeId: string;
  /** Documents up to this `_id` are done. */
  after: string;
  /** How many are looked at, at most. */
  documents: number;
  /** The store's offset, for which the bodies shall be made. */
  offset: string;
}

export interface BatchResult {
  looked: number;
  rewritten: number;
  /** Where the next batch goes on; `null` where there is nothing left. */
  last: string | null;
  /** Documents that others changed at the same moment: look at this batch again. */
  missed: number;
}

/**
 * Rewrites the next documents of a store. No transaction, so that none of the projector's ever waits for it.
 * @returns `null` where the store's offset is another one by now.
 */
export async function rewriteBatch(db: Db, batch: Batch): Promise<BatchResult | null> {
  const { collection, storeId, documents, offset } = batch;
  const operations: AnyBulkWriteOperation<Row>[] = [];
  let looked = 0;
  let bytes = 0;
  let last: string | null = null;
  for await (const row of read(db, batch)) {
    if (row.offset === undefined) {
      if ((row.timezone_offset ?? DEFAULT_OFFSET) !== offset) return null;
      continue;
    }
    looked += 1;
    last = row._id;
    const operation = row.offset === offset ? null : rewriting(storeId, row, offset);
    if (operation !== null) operations.push(operation);
    bytes += BODY_FIELDS.reduce((sum, field) => sum + (row[field]?.length ?? 0), 0);
    if (bytes >= MOST_BYTES) break;
  }
  if (looked < documents && bytes < MOST_BYTES) last = null;
  if (operations.length === 0) return { looked, rewritten: 0, last, missed: 0 };
  const { matchedCount } = await db
    .collection<Row>(collection)
    .bulkWrite(operations, { ...LIMITS, ordered: false });
  return { looked, rewritten: matchedCount, last, missed: operations.length - matchedCount };
}

/** From one snapshot: the store's stamp, then its next documents by `_id`, with their bodies where they are for another offset. */
function read(
  db: Db,
  { collection, storeId, after, documents, offset }: Batch,
): AsyncIterable<Row | StampRow> {
  const isMade = { $eq: ['$offset', { $literal: offset }] };
  const bodies = BODY_FIELDS.map((field) => [field, { $cond: [isMade, '$$REMOVE', `$${field}`] }]);
  const pipeline: Document[] = [
    {
      $match: { store_id: storeId, _id: { ...idsOfStore(storeId), ...(after === '' ? {} : { $gt: after }) } },
    },
    { $sort: { _id: 1 } },
    { $limit: documents },
    { $project: { offset: 1, ...Object.fromEntries(bodies) } },
  ];
  const stages: Document[] = [
    { $match: { _id: storeId } },
    { $project: { timezone_offset: 1 } },
    { $unionWith: { coll: collection, pipeline } },
  ];
  return db.collection<Stamp>(STAMPS).aggregate<Row | StampRow>(stages, {
    ...LIMITS,
    readConcern: { level: 'snapshot' },
  });
}

/**
 * The write that makes a document's bodies for another offset.
 * @returns `null` where something would be lost, or is too much: such a document is shifted whenever it is read, as before.
 */
function rewriting(
  store_id: string,
  { _id, offset, ...fields }: Row,
  to: string,
): AnyBulkWriteOperation<Row> | null {
  if (offset === EXACT) return null;
  let bytes = 0;
  const before: Record<string, string> = {};
  const after: Record<string, string> = {};
  for (const [field, body] of Object.entries(fields)) {
    const shifted = shiftBody(body, offset, to);
    if (!isReversible(body) || !isReversible(shifted)) return null;
    if (shifted === body) continue;
    bytes += Buffer.byteLength(body);
    before[field] = body;
    after[field] = shifted;
  }
  if (bytes > MOST_IN_ONE_WRITE) return null;
  const filter = { _id, store_id, offset, ...before };
  return { updateOne: { filter, update: { $set: { ...after, offset: to } }, hint: BY_ID } };
}
