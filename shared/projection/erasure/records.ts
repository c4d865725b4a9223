/** Erases orders, reviews and dead letters in one transaction, within a budget: it stays short however many name a customer. */
import type { AnyBulkWriteOperation, ClientSession, Db, Filter } from 'mongodb';
import type { EntityName } from '../../events/entities/index.ts';
import { BY_ID, COLLECTIONS, DEAD_LETTERS, type DeadLetter } from '../../read-models/collections.ts';
import { erasedJson, type NamingDocument } from '../../read-models/erasures.ts';
import { type TakenPositions, takePosition } from '../slice/epochs.ts';
import { NOTHING_KEPT } from '../dead-letters/letter.ts';

export interface Erasing {
  db: Db;
  session: ClientSession;
  storeId: string;
  /** How many documents, and characters of their JSON, may still be read. The last document may exceed it. */
  budget: { documents: number; characters: number };
  /** The store's positions: each erased record takes one. */
  taken: TakenPositions;
  /** How many were erased. */
  erased: number;
  /** Whether a customer whose records exceed the budget loses what is within it. */
  inPart: boolean;
}

/** A deleted customer. */
export interface Target {
  id: string;
  /** Records up to this position are erased. */
  upTo: number;
  /** The sort key of the last document that was read; empty at the beginning. Not for several targets at once. */
  after: string;
}

/** Where the budget ended: the first customer of whom something may be left, and the last key that was read. */
interface End {
  id: string;
  after: string;
}

/** Erases records of one kind, customer by customer in the order of their ids. @returns `null` when none is left. */
export async function eraseKind(
  work: Erasing,
  entity: EntityName,
  targets: readonly Target[],
): Promise<End | null> {
  if (targets.length === 0) return null;
  const { db, session, budget } = work;
  const collection = db.collection<NamingDocument>(COLLECTIONS[entity]);
  const found = collection.find(naming(work.storeId, targets), {
    session,
    hint: 'by_customer',
    sort: { customer_id: 1, rank_key: 1 },
    // One more than the budget allows: then it is exceeded.
    limit: Math.max(0, budget.documents) + 1,
  });
  const byId = new Map(targets.map((target) => [target.id, target]));
  let end: End | null = null;
  let last: End = { id: '', after: '' };
  let erased: { id: string; of: string; json: { summary: string; whole: string } }[] = [];
  for await (const document of found) {
    const { _id, customer_id, rank_key, feed_position, summary, whole } = document;
    const target = byId.get(customer_id ?? '');
    if (target === undefined) continue;
    if (budget.documents <= 0 || budget.characters <= 0) {
      end = { id: target.id, after: last.id === target.id ? last.after : target.after };
      break;
    }
    budget.documents -= 1;
    budget.characters -= summary.length + whole.length;
    last = { id: target.id, after: rank_key };
    const json = feed_position <= target.upTo ? erasedJson(document) : null;
    if (json !== null) erased.push({ id: _id, of: target.id, json });
  }
  if (!work.inPart && end !== null) {
    const { id } = end;
    erased = erased.filter(({ of }) => of !== id);
  }
  const operations = erased.map(({ id, json }): AnyBulkWriteOperation<NamingDocument> => {
    const feed_position = takePosition(work.taken, entity);
    const filter = { _id: id, store_id: work.storeId };
    return { updateOne: { filter, update: { $set: { ...json, feed_position } }, hint: BY_ID } };
  });
  if (operations.length > 0) await collection.bulkWrite(operations, { session, ordered: false });
  work.erased += operations.length;
  return end;
}

function naming(store_id: string, targets: readonly Target[]): Filter<NamingDocument> {
  const [first] = targets;
  return first !== undefined && targets.length === 1
    ? { store_id, customer_id: first.id, rank_key: { $gt: first.after } }
    : { store_id, customer_id: { $in: targets.map(({ id }) => id) } };
}

/** Erases letters in the session's transaction: where the message lies and why it died is all that is left. */
export async function eraseLetters(db: Db, session: ClientSession, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db
    .collection<DeadLetter>(DEAD_LETTERS)
    .updateMany(
      { _id: { $in: [...ids] } },
      { $set: { ...NOTHING_KEPT, erased: true }, $unset: { customers: '', positions: '' } },
      { session },
    );
}

/** The next letters that pass a filter. Those that are erased no longer say whom they name. */
export async function findLetters(
  db: Db,
  session: ClientSession,
  filter: Filter<DeadLetter>,
  limit: number,
): Promise<string[]> {
  const found = await db
    .collection<DeadLetter>(DEAD_LETTERS)
    .find(filter, { session, projection: { _id: 1 }, limit, batchSize: limit + 1 })
    .toArray();
  return found.map(({ _id }) => _id);
}

/** Letters that name a customer (`<store id>/<customer id>`) and were written up to a position of the store. */
export function lettersUpTo(customer: string, position: number): Filter<DeadLetter> {
  const storeId = customer.slice(0, customer.indexOf('/'));
  return { customers: customer, [`positions.${storeId}`]: { $not: { $gt: position } } };
}
