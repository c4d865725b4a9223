/**
 * What a slice erases itself of the customers that it deletes: what earlier slices stored of them, as far as it is little. Of whom
 * more is stored an erasure begins: it holds for every reader from the commit on, and the rewriting follows in pieces.
 */
import type { ClientSession, Db } from 'mongodb';
import { documentId, ERASURES } from '../../read-models/collections.ts';
import { type Erasure, NAMING_CUSTOMERS } from '../../read-models/erasures.ts';
import type { Plan } from '../changes/plan.ts';
import type { Stored } from '../changes/stored.ts';
import { eraseKind, type Erasing } from './documents.ts';
import { eraseLetters, findLetters } from './letters.ts';

/** What a slice erases at most, of all customers that it deletes; letters may be large. */
export const ERASED_BY_SLICE = { documents: 500, characters: 4 * 1_048_576, letters: 100 };

/**
 * Erases in the session's transaction, before the slice's own documents are written: those are right as they are.
 * @returns the stores that have erasures from now on and had none.
 */
export async function eraseCustomers(
  db: Db,
  session: ClientSession,
  plan: Plan,
  stored: Pick<Stored, 'stamps'>,
  partition: number,
): Promise<string[]> {
  if (plan.erased.size === 0) return [];
  const { documents, characters } = ERASED_BY_SLICE;
  const budget = { documents, characters };
  const erasures: Erasure[] = [];
  const began_at = new Date();
  const hasLettersLeft = await leavesLetters(db, session, plan);
  for (const [storeId, deletions] of plan.erased) {
    const stamp = plan.stamps.get(storeId);
    if (stamp === undefined) continue;
    const customers = [...deletions.keys()].toSorted();
    const work = { db, session, storeId, budget, taken: stamp, erased: 0, inPart: false };
    const left = await eraseDocuments(work, customers);
    const position = stored.stamps.get(storeId)?.position ?? 0;
    for (const id of hasLettersLeft ? customers : left) {
      erasures.push({ _id: documentId(storeId, id), store_id: storeId, position, partition, began_at });
      stamp.erasing = true;
    }
  }
  await begin(db, session, erasures);
  const stores = new Set(erasures.map(({ store_id }) => store_id));
  return [...stores].filter((storeId) => stored.stamps.get(storeId)?.erasing !== true);
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
async function leavesLetters(db: Db, session: ClientSession, { erased }: Plan): Promise<boolean> {
  const customers = [...erased].flatMap(([storeId, deletions]) =>
    [...deletions.keys()].map((id) => documentId(storeId, id)),
  );
  const most = ERASED_BY_SLICE.letters;
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
