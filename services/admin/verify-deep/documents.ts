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
import { customerNamedBy } from '#shared/projection/changes/customers.ts';
import { projectDocument } from '#shared/projection/projections/index.ts';
import type { Findings } from './findings.ts';
import { type History, type Place, possibly } from './history.ts';

/** A newest state and where it lies in the log. */
export interface NewestState {
  change: Change;
  place: Place;
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
    // A version that lies in the log twice has two states, of which either may be the one that counts.
    const byId = Map.groupBy(group, ({ change }) => documentId(change.storeId, change.id));
    for (const [id, versions] of byId) compareDocument(history, versions, stored.get(id), findings);
  }
}

function compareDocument(
  history: History,
  states: readonly NewestState[],
  document: ReadModelDocument | undefined,
  findings: Findings,
): void {
  const [state] = states;
  if (state === undefined) return;
  const { entity, storeId, id, sequence } = state.change;
  const what = `${entity} ${id}`;
  const newest = history.entities.get(tombstoneId(entity, storeId, id));
  if (document === undefined) {
    if (newest !== undefined && possibly(newest).deleted) return;
    findings.add(storeId, what, 'missing', `version ${sequence}`);
    return;
  }
  if (newest !== undefined) newest.found = true;
  if (document.sequence !== sequence) {
    findings.add(storeId, what, `version ${document.sequence}`, `version ${sequence}`);
    return;
  }
  if (!history.hadOffset(storeId, document.offset)) {
    findings.add(storeId, what, 'made for an offset that the store never had', 'an offset of the store');
    return;
  }
  const differing = states
    .flatMap((each) => projected(history, each, document.offset))
    .map((expected) => differingFields(document, expected));
  const [fields = []] = differing;
  if (differing.every(({ length }) => length > 0)) {
    findings.add(storeId, what, `other ${fields.join(', ')}`, `version ${sequence} as projected`);
  }
}

/** The documents that the projection may make of the event, for the offset for which the stored one was made. */
function projected(
  history: History,
  { change, place }: NewestState,
  zone: string,
): Unplaced<ReadModelDocument>[] {
  const customer = customerNamedBy(change);
  const erased = customer !== null && history.isErased(change.storeId, customer, place);
  const ways = erased === 'perhaps' ? [false, true] : [erased];
  return ways.map((customerErased) => projectDocument(change, { offset: zone, customerErased }));
}

function differingFields(stored: object, expected: object): string[] {
  const left = new Map(Object.entries(stored));
  const right = new Map(Object.entries(expected));
  return [...new Set([...left.keys(), ...right.keys()])].filter(
    (field) => field !== 'feed_position' && !isDeepStrictEqual(left.get(field), right.get(field)),
  );
}
