/** Compares documents with what the projection makes of the newest events now. */
import { isDeepStrictEqual } from 'node:util';
import type { ClientSession, Db } from 'mongodb';
import type { Change } from '#shared/events/change.ts';
import {
  COLLECTIONS,
  documentId,
  type ReadModelDocument,
  tombstoneId,
  type Unplaced,
} from '#shared/read-models/collections.ts';
import { withoutErased } from '#shared/read-models/erasures.ts';
import { customerNamedBy } from '#projector/changes/customers.ts';
import { projectDocument } from '#projector/projections/index.ts';
import type { Findings } from './findings.ts';
import type { History } from './history.ts';

/** A newest state and where it lies in the log. */
export interface NewestState {
  change: Change;
  offset: number;
}

/** Compares the documents of some newest states, read in the session's snapshot. */
export async function compareDocuments(
  db: Db,
  session: ClientSession,
  history: History,
  states: readonly NewestState[],
  findings: Findings,
): Promise<void> {
  for (const [entity, group] of Map.groupBy(states, ({ change }) => change.entity)) {
    const ids = group.map(({ change }) => documentId(change.storeId, change.id));
    const found = await db
      .collection<ReadModelDocument>(COLLECTIONS[entity])
      .find({ _id: { $in: ids } }, { session, batchSize: 10_000 })
      .toArray();
    const shown = await withoutErased(db, session, COLLECTIONS[entity], found);
    const stored = new Map(shown.map((document) => [document._id, document]));
    for (const state of group) compareDocument(history, state, stored, findings);
  }
}

function compareDocument(
  history: History,
  { change, offset }: NewestState,
  stored: ReadonlyMap<string, ReadModelDocument>,
  findings: Findings,
): void {
  const { entity, storeId, id, sequence } = change;
  const what = `${entity} ${id}`;
  const document = stored.get(documentId(storeId, id));
  if (document === undefined) {
    findings.add(storeId, what, 'missing', `version ${sequence}`);
    return;
  }
  const newest = history.entities.get(tombstoneId(entity, storeId, id));
  if (newest !== undefined) newest.found = true;
  if (document.sequence !== sequence) {
    findings.add(storeId, what, `version ${document.sequence}`, `version ${sequence}`);
    return;
  }
  if (!history.hadOffset(storeId, document.offset)) {
    findings.add(storeId, what, 'made for an offset that the store never had', 'an offset of the store');
    return;
  }
  const fields = differingFields(document, projected(history, change, offset, document.offset));
  if (fields.length > 0) {
    findings.add(storeId, what, `other ${fields.join(', ')}`, `version ${sequence} as projected`);
  }
}

/** The document that the projection makes of the event, for the offset for which the stored one was made. */
function projected(history: History, change: Change, at: number, zone: string): Unplaced<ReadModelDocument> {
  const customer = customerNamedBy(change);
  return projectDocument(change, {
    offset: zone,
    customerErased: customer !== null && history.isErased(change.storeId, customer, at),
  });
}

function differingFields(stored: object, expected: object): string[] {
  const left = new Map(Object.entries(stored));
  const right = new Map(Object.entries(expected));
  return [...new Set([...left.keys(), ...right.keys()])].filter(
    (field) => field !== 'feed_position' && !isDeepStrictEqual(left.get(field), right.get(field)),
  );
}
