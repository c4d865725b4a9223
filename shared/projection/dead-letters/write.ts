/** Writing dead letters, in the same transaction that passes their messages by. */
import type { ClientSession, Db } from 'mongodb';
import {
  BY_ID,
  DEAD_LETTERS,
  type DeadLetter,
  type Stamp,
  STAMPS,
  type Tombstone,
  tombstoneId,
  TOMBSTONES,
  tombstonesWith,
} from '../../read-models/collections.ts';
import { NOTHING_KEPT } from './letter.ts';
import type { LetterLimits } from './limits.ts';

/** Where in the log customers were deleted last, of those whom a slice deletes: by `<store id>/<customer id>`. */
export type Deletions = ReadonlyMap<string, number>;

/** Writes dead letters as the transaction's last step. @param limits `null` where they replace letters that are there. */
export async function writeDeadLetters(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
  limits: Pick<LetterLimits, 'admit'> | null,
  deletions: Deletions = new Map(),
): Promise<void> {
  if (letters.length === 0) return;
  const allowed = await withPositions(db, session, await withoutDeleted(db, session, letters, deletions));
  const admitted = limits === null ? allowed : await limits.admit(allowed);
  const operations = admitted.map((letter) => ({
    replaceOne: { filter: { _id: letter._id }, replacement: letter, upsert: true },
  }));
  await db.collection<DeadLetter>(DEAD_LETTERS).bulkWrite(operations, { session, ordered: false });
}

/** What is left of a letter that names a deleted customer. */
function erased({ customers: _customers, ...letter }: DeadLetter): DeadLetter {
  return { ...letter, ...NOTHING_KEPT, erased: true };
}

/** Nothing is kept of messages that name a customer who is deleted by now, or was deleted behind them in the slice. */
async function withoutDeleted(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
  deletions: Deletions,
): Promise<readonly DeadLetter[]> {
  const graves = new Set(letters.flatMap(({ customers }) => customers ?? []).map(graveOf));
  if (graves.size === 0) return letters;
  const found = await db
    .collection<Tombstone>(TOMBSTONES)
    .find(tombstonesWith([...graves]), { session, projection: { _id: 1 }, hint: BY_ID, batchSize: 10_000 })
    .toArray();
  const deleted = new Set(found.map(({ _id }) => _id));
  return letters.map((letter) =>
    letter.customers?.some(
      (customer) => deleted.has(graveOf(customer)) || letter.offset < (deletions.get(customer) ?? -1),
    )
      ? erased(letter)
      : letter,
  );
}

/** Notes which positions the stores had given by then: a later deletion reaches what was written up to its own. */
async function withPositions(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
): Promise<readonly DeadLetter[]> {
  const stores = new Set(letters.flatMap(({ customers }) => customers ?? []).map(storeOf));
  if (stores.size === 0) return letters;
  const stamps = await db
    .collection<Stamp>(STAMPS)
    .find({ _id: { $in: [...stores] } }, { session, projection: { position: 1 }, batchSize: 10_000 })
    .toArray();
  const positions = new Map(stamps.map(({ _id, position }) => [_id, position ?? 0]));
  return letters.map((letter) => {
    if (letter.customers === undefined) return letter;
    const named = letter.customers.map(storeOf).map((id): [string, number] => [id, positions.get(id) ?? 0]);
    return { ...letter, positions: Object.fromEntries(named) };
  });
}

function storeOf(customer: string): string {
  return customer.slice(0, customer.indexOf('/'));
}

function graveOf(customer: string): string {
  const [storeId = '', id = ''] = customer.split('/');
  return tombstoneId('customer', storeId, id);
}
