/** What is stored of the records that events change, so that a publisher hears of those that change nothing. */
import type { Db } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  documentsWith,
  type Tombstone,
  tombstoneId,
  TOMBSTONES,
  tombstonesWith,
} from '#shared/read-models/collections.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { asFailure, isUnavailable, StoreDataError } from '#shared/errors.ts';
import type { Servers } from '../connection/servers.ts';
import { remark } from '../output/print.ts';

/** Which record an event changes, and to which version. */
export interface RecordVersion {
  entity: EntityName;
  storeId: string;
  id: string;
  sequence: number;
}

/** By `<entity>/<store>/<id>`, the `sequence` that is stored of some records, that of a deletion included. */
export type StoredSequences = (records: readonly RecordVersion[]) => Promise<ReadonlyMap<string, number>>;

const NOTHING: ReadonlyMap<string, number> = new Map();

/** Makes the read; `null` where MongoDB cannot be read. A publisher needs no access to it. */
export async function storedSequencesOf(
  servers: Servers,
  environment: string,
): Promise<StoredSequences | null> {
  if (servers.config.mongodb.uri === '') return null;
  const unknown = (error: unknown) => {
    if (!isUnavailable(error) && !(error instanceof StoreDataError)) throw error;
    remark(
      `note: nobody can say which events are not newer than what is stored: ${asFailure(error).message}`,
    );
    return null;
  };
  const generation = await servers
    .databases(environment)
    .then((databases) => findLiveGeneration(databases, environment))
    .catch(unknown);
  if (generation === null) return null;
  let isKnown = true;
  return async (records) => {
    if (!isKnown || records.length === 0) return NOTHING;
    const found = await readSequences(generation.db, records).catch(unknown);
    isKnown = found !== null;
    return found ?? NOTHING;
  };
}

async function readSequences(db: Db, records: readonly RecordVersion[]): Promise<Map<string, number>> {
  const stored = new Map<string, number>();
  const ids = [...new Set(records.map(({ entity, storeId, id }) => tombstoneId(entity, storeId, id)))];
  const options = { projection: { sequence: 1 }, hint: BY_ID };
  const tombstones = await db.collection<Tombstone>(TOMBSTONES).find(tombstonesWith(ids), options).toArray();
  for (const { _id, sequence } of tombstones) stored.set(_id, sequence);
  for (const [entity, own] of Map.groupBy(records, (record) => record.entity)) {
    const documents = own.map(({ storeId, id }) => documentId(storeId, id));
    const found = db
      .collection<{ _id: string; sequence: number; store_id: string }>(COLLECTIONS[entity])
      .find(documentsWith(documents), options);
    for await (const { _id, sequence } of found) stored.set(`${entity}/${_id}`, sequence);
  }
  return stored;
}
