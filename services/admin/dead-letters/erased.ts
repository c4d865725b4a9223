/** Dead letters as they may be shown: a deleted customer's may still be stored while the customer's erasure is under way. */
import type { ClientSession, Db } from 'mongodb';
import { NOTHING_KEPT } from '#shared/projection/dead-letters/letter.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { erasurePositions } from '#shared/read-models/erasures.ts';
import { inSnapshot } from '../comparison/snapshot.ts';
import type { LetterBox } from './boxes.ts';

/** Reads letters of a box as they may be shown: letters and erasures come from one snapshot. */
export async function readShown<L extends Letter>(
  box: LetterBox,
  read: (box: LetterBox, session: ClientSession) => Promise<L[]>,
): Promise<L[]> {
  const db = forSnapshots(box.db);
  return inSnapshot(db.client, async (session) => {
    const letters = await read({ ...box, db, letters: db.collection(DEAD_LETTERS) }, session);
    return withoutErasedLetters(db, letters, session);
  });
}

type Letter = Pick<DeadLetter, 'customers' | 'positions' | 'erased'>;

/** Letters without anything of the messages that name a customer who is being erased. */
export async function withoutErasedLetters<L extends Letter>(
  db: Db,
  letters: readonly L[],
  session: ClientSession,
): Promise<L[]> {
  const customers = letters.flatMap((letter) => letter.customers ?? []);
  const upTo = await erasurePositions(db, session, customers);
  if (upTo.size === 0) return [...letters];
  return letters.map((letter) => {
    const { customers: named = [], positions = {} } = letter;
    const isErased = named.some((customer) => {
      const written = positions[customer.slice(0, customer.indexOf('/'))] ?? 0;
      return written <= (upTo.get(customer) ?? -1);
    });
    return isErased ? { ...letter, ...NOTHING_KEPT, erased: true } : letter;
  });
}
