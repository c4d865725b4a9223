/** Finds what is stored of a store and should not be: documents and tombstones that the log does not know. */
import type { ClientSession, Db } from 'mongodb';
import { ENTITY_NAMES } from '#shared/events/entities/index.ts';
import { COLLECTIONS, type Tombstone, TOMBSTONES } from '#shared/read-models/collections.ts';
import type { Findings } from './findings.ts';
import { type History, possibly } from './history.ts';

/** Compares what is stored of one store, read in the session's snapshot; missing documents are found elsewhere. */
export async function findLeftovers(
  db: Db,
  session: ClientSession,
  history: History,
  storeId: string,
  findings: Findings,
): Promise<void> {
  for (const entity of ENTITY_NAMES) {
    const ids = db
      .collection<{ _id: string }>(COLLECTIONS[entity])
      .find({ _id: beginsWith(`${storeId}/`) }, { session, projection: { _id: 1 }, batchSize: 10_000 });
    for await (const { _id } of ids) {
      const newest = history.entities.get(`${entity}/${_id}`);
      const id = _id.slice(storeId.length + 1);
      if (newest === undefined) findings.add(storeId, `${entity} ${id}`, 'a document', 'no event');
      else if (!possibly(newest).present) {
        findings.add(storeId, `${entity} ${id}`, 'a document', `deleted in version ${newest.sequence}`);
      }
    }
    await compareTombstones(db, session, history, `${entity}/${storeId}/`, findings);
  }
}

async function compareTombstones(
  db: Db,
  session: ClientSession,
  history: History,
  prefix: string,
  findings: Findings,
): Promise<void> {
  const [entity = '', storeId = ''] = prefix.split('/');
  const tombstones = db
    .collection<Tombstone>(TOMBSTONES)
    .find({ _id: beginsWith(prefix) }, { session, projection: { sequence: 1 }, batchSize: 10_000 });
  for await (const { _id, sequence } of tombstones) {
    const newest = history.entities.get(_id);
    const what = `${entity} ${_id.slice(prefix.length)}`;
    if (newest === undefined || !possibly(newest).deleted)
      findings.add(storeId, what, `deleted in version ${sequence}`, 'not deleted');
    else if (newest.sequence !== sequence) {
      newest.found = true;
      findings.add(storeId, what, `deleted in version ${sequence}`, `deleted in version ${newest.sequence}`);
    } else newest.found = true;
  }
}

/** Deleted entities without a tombstone: an older event would bring them back. */
export function findMissingTombstones(history: History, findings: Findings): void {
  for (const [key, newest] of history.entities) {
    if (newest.found || possibly(newest).present) continue;
    const { sequence } = newest;
    const [entity = '', storeId = '', id = ''] = key.split('/');
    findings.add(storeId, `${entity} ${id}`, 'no tombstone', `deleted in version ${sequence}`);
  }
}

/** A range of ids, led by the index of `_id`. */
function beginsWith(prefix: string): { $gte: string; $lt: string } {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { $gte: prefix, $lt: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}
