/** Writes dead letters, in the transaction that moves the checkpoint behind their messages. */
import type { ClientSession, Collection, Db } from 'mongodb';
import {
  BY_ID,
  type DeadLetter,
  findTombstones,
  lettersIn,
  stampsIn,
  tombstoneId,
  tombstonesIn,
  writeAll,
} from '../../read-models/collections.ts';
import { idsBelow } from '../../read-models/rank-tree/keys.ts';
import { isAnybody, NOTHING_KEPT, toBareLetter } from './letter.ts';
import { EventRejected } from '../../events/rejection.ts';
import { applyWithCheckpoint, type Claim, type Slice } from '../slice/checkpoint.ts';

/** The offset of the last deletion of each customer in a slice, by `<store id>/<customer id>`. */
export type Deletions = ReadonlyMap<string, number>;

/**
 * Writes dead letters as the transaction's last step.
 * @param limits `null` if they replace existing letters.
 */
export async function writeDeadLetters(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
  limits: LetterLimits | null,
  deletions: Deletions = new Map(),
): Promise<void> {
  if (letters.length === 0) return;
  const allowed = await withPositions(
    db,
    session,
    await withoutDeleted(db, session, letters, deletions),
  );
  const admitted = limits === null ? allowed : await limits.admit(allowed);
  await replaceLetters(db, session, admitted);
}

async function replaceLetters(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
): Promise<void> {
  const operations = letters.map((letter) => ({
    replaceOne: { filter: { _id: letter._id }, replacement: letter, upsert: true },
  }));
  await writeAll(lettersIn(db), operations, session);
}

/**
 * Empties letters of messages that may name a customer who is deleted, or whom the slice deletes
 * behind them.
 */
async function withoutDeleted(
  db: Db,
  session: ClientSession,
  letters: readonly DeadLetter[],
  deletions: Deletions,
) {
  const named = new Set(letters.flatMap(({ customers }) => customers ?? []));
  const deleted = await findDeleted(db, session, [...named]);
  return letters.map((letter) => {
    const gone = (letter.customers ?? []).filter(
      (customer) => deleted.has(customer) || letter.offset < lastDeletion(deletions, customer),
    );
    if (gone.length === 0) return letter;
    const { customers: _customers, ...place } = letter;
    return { ...place, ...contentWithout(gone) };
  });
}

/**
 * What remains of a letter.
 * @param gone whose deletion is the reason: if each is anybody, the message may be about others.
 */
export function contentWithout(
  gone: readonly string[],
): typeof NOTHING_KEPT & Pick<DeadLetter, 'erased'> {
  return gone.every(isAnybody) ? NOTHING_KEPT : { ...NOTHING_KEPT, erased: true };
}

/** How the `_id`s of customers' tombstones begin. */
const OF_CUSTOMERS = tombstoneId('customer', '', '').slice(0, -1);

/** Which of some customers, or of anybody, are deleted. */
async function findDeleted(
  db: Db,
  session: ClientSession,
  customers: readonly string[],
): Promise<ReadonlySet<string>> {
  const exact = customers.filter((customer) => !isAnybody(customer));
  const tombstones = await findTombstones(
    db,
    exact.map((customer) => `${OF_CUSTOMERS}${customer}`),
    session,
  );
  const deleted = new Set(tombstones.map(({ _id }) => _id.slice(OF_CUSTOMERS.length)));
  for (const anybody of customers.filter(isAnybody)) {
    if (await hasDeletedCustomers(db, session, storeOf(anybody))) deleted.add(anybody);
  }
  return deleted;
}

/** @param storeId empty for any store. */
async function hasDeletedCustomers(
  db: Db,
  session: ClientSession,
  storeId: string,
): Promise<boolean> {
  const filter =
    storeId === ''
      ? { _id: idsBelow('customer') }
      : { store_id: storeId, _id: idsBelow(`customer/${storeId}`) };
  const found = await tombstonesIn(db).findOne(filter, {
    session,
    projection: { _id: 1 },
    hint: BY_ID,
  });
  return found !== null;
}

function lastDeletion(deletions: Deletions, customer: string): number {
  if (!isAnybody(customer)) return deletions.get(customer) ?? -1;
  const ofStore = [...deletions].filter(([id]) => customer === '/' || id.startsWith(customer));
  return Math.max(-1, ...ofStore.map(([, offset]) => offset));
}

/**
 * Notes the present positions of the stores: a later deletion erases letters up to its own
 * position.
 */
async function withPositions(db: Db, session: ClientSession, letters: readonly DeadLetter[]) {
  const stores = new Set(letters.flatMap(({ customers }) => customers ?? []).map(storeOf));
  // A letter that names no store has no position.
  stores.delete('');
  if (stores.size === 0) return letters;
  const stamps = await stampsIn(db)
    .find(
      { _id: { $in: [...stores] } },
      { session, projection: { position: 1 }, batchSize: 10_000 },
    )
    .toArray();
  const positions = new Map(stamps.map(({ _id, position }) => [_id, position ?? 0]));
  return letters.map((letter) => {
    if (letter.customers === undefined) return letter;
    const named = letter.customers
      .map(storeOf)
      .filter((id) => id !== '')
      .map((id) => [id, positions.get(id) ?? 0] as const);
    return { ...letter, positions: Object.fromEntries(named) };
  });
}

function storeOf(customer: string): string {
  return customer.slice(0, customer.indexOf('/'));
}

export async function takeCensus(
  collection: Collection<DeadLetter>,
  topic: string,
): Promise<{ letters: number; bytes: number; oldest: Date | null }> {
  const counts = {
    letters: { $sum: 1 },
    bytes: { $sum: '$kept_bytes' },
    oldest: { $min: '$dead_at' },
  };
  const stages = [
    { $match: { topic } },
    { $project: { _id: 0, dead_at: 1, kept_bytes: 1 } },
    { $group: { _id: null, ...counts } },
  ];
  const [row] = await collection
    .aggregate<{ letters: number; bytes: number; oldest: Date }>(stages, { hint: 'by_age' })
    .toArray();
  return row ?? { letters: 0, bytes: 0, oldest: null };
}

/** Bounds the bytes of a topic's letters. Beyond the bound a letter has only place and reason. */
export interface LetterLimits {
  admit: (letters: readonly DeadLetter[]) => Promise<DeadLetter[]>;
}

/**
 * Makes dead letters without content, so that no message can make it fail.
 * @param db the database of the letters.
 */
export async function giveUpSlice(claim: Claim, slice: Slice, db: Db): Promise<DeadLetter[]> {
  const { topic, partition, messages } = slice;
  const rejection = new EventRejected(
    'projection_failed',
    'its transaction failed again and again',
  );
  const letters = messages.map((message) => toBareLetter(topic, partition, message, rejection));
  await applyWithCheckpoint(claim, slice, async (moveCheckpoint) => {
    await moveCheckpoint();
    await replaceLetters(db, claim.session, letters);
  });
  return letters;
}
