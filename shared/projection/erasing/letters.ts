/** Erasing dead letters: where their message lies and why it died is all that is left of them. */
import type { ClientSession, Db, Filter } from 'mongodb';
import { DEAD_LETTERS, type DeadLetter } from '../../read-models/collections.ts';
import { NOTHING_KEPT } from '../dead-letters/letter.ts';

/** Erases letters in the session's transaction. */
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
