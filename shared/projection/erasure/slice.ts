/**
 * What a slice erases itself of the customers that it deletes: what earlier slices stored of them, where that is little. Where more
 * is stored an erasure begins: readers mask the customer from the commit on, and pieces follow in the background.
 */
import type { ClientSession, Db } from 'mongodb';
import { documentId, ERASURES, type Stamp } from '../../read-models/collections.ts';
import { type Erasure, NAMING_CUSTOMERS } from '../../read-models/erasures.ts';
import type { TakenPositions } from '../slice/epochs.ts';
import { enqueueStores } from './queue.ts';
import { eraseKind, eraseLetters, type Erasing, findLetters } from './records.ts';

/** What a slice erases at most, of all customers that it deletes; letters may be large. */
export const MAX_SLICE = { documents: 500, characters: 4 * 1_048_576, letters: 100 };

/** The customers that a slice deletes, and the stamps of their stores. */
interface Deleted {
  /** By store id, then by customer id. */
  customers: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  /** As the slice changes them. */
  stamps: ReadonlyMap<string, TakenPositions & { erasing?: true }>;
  /** As they were before the slice. */
  before: ReadonlyMap<string, Stamp>;
}

/** Erases in the session's transaction, before the slice's own documents are written: those are right as they are. */
export async function eraseCustomers(
  db: Db,
  session: ClientSession,
  deleted: Deleted,
  partition: number,
): Promise<void> {
  const { customers: erased, stamps, before } = deleted;
  if (erased.size === 0) return;
  const { documents, characters } = MAX_SLICE;
  const budget = { documents, characters };
  const erasures: Erasure[] = [];
  const began_at = new Date();
  const hasLettersLeft = await leavesLetters(db, session, erased);
  for (const [storeId, deletions] of erased) {
    const stamp = stamps.get(storeId);
    if (stamp === undefined) continue;
    const customers = [...deletions.keys()].toSorted();
    const work = { db, session, storeId, budget, taken: stamp, erased: 0, inPart: false };
    const left = await eraseDocuments(work, customers);
    const position = before.get(storeId)?.position ?? 0;
    for (const id of hasLettersLeft ? customers : left) {
      erasures.push({ _id: documentId(storeId, id), store_id: storeId, position, partition, began_at });
      stamp.erasing = true;
    }
  }
  await begin(db, session, erasures);
  const stores = new Set(erasures.map(({ store_id }) => store_id));
  const entering = [...stores].filter((storeId) => before.get(storeId)?.erasing !== true);
  await enqueueStores(db, session, entering, partition);
}

/** @returns the customers of whom something may be left. */
async function eraseDocuments(work: Erasing, customers: readonly string[]): Promise<ReadonlySet<string>> {
  const left = new Set<string>();
  for (const entity of NAMING_CUSTOMERS) {
    const wanted = customers.filter((id) => !left.has(id));
    const targets = wanted.map((id) => ({ id, upTo: Infinity, after: '' }));
    const end = await eraseKind(work, entity, targets);
    if (end !== null) for (const id of wanted) if (id >= end.id) left.add(id);
  }
  return left;
}

/** Erases letters, or leaves all of them where they are many. */
async function leavesLetters(db: Db, session: ClientSession, erased: Deleted['customers']): Promise<boolean> {
  const customers = [...erased].flatMap(([storeId, deletions]) =>
    [...deletions.keys()].map((id) => documentId(storeId, id)),
  );
  const most = MAX_SLICE.letters;
  const found = await findLetters(db, session, { customers: { $in: customers } }, most + 1);
  if (found.length > most) return true;
  await eraseLetters(db, session, found);
  return false;
}

/** Erasures that are under way begin anew: what came since they began is to be erased as well. */
async function begin(db: Db, session: ClientSession, erasures: readonly Erasure[]): Promise<void> {
  if (erasures.length === 0) return;
  await db.collection<Erasure>(ERASURES).bulkWrite(
    erasures.map(({ _id, store_id, position, partition, began_at }) => ({
      updateOne: {
        filter: { _id },
        update: {
          $set: { position, partition },
          $setOnInsert: { store_id, began_at },
          $unset: { done: '' as const },
        },
        upsert: true,
      },
    })),
    { session, ordered: false },
  );
}
