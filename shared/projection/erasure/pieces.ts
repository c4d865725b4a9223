/**
 * Erases one piece of a store. Records with later positions stay: they were written after the
 * deletion.
 */
import type { AnyBulkWriteOperation, ClientSession, Db, Filter, UpdateFilter } from 'mongodb';
import {
  COLLECTIONS,
  type DeadLetter,
  DEAD_LETTERS,
  idsOfStore,
  type Stamp,
  stampsIn,
  writeAll,
} from '../../read-models/collections.ts';
import {
  type Erasure,
  type ErasureProgress,
  NAMING_CUSTOMERS,
  erasuresIn,
} from '../../read-models/erasures.ts';
import type { Epochs, Given, GivenPositions } from '../slice/epochs.ts';
import { anybodyIn, dequeueStore, eraseKind, eraseLetters, type Erasing } from './erase.ts';

/** The most that a piece erases; letters may be large. */
export const MAX_PIECE = { documents: 200, characters: 2 * 1_048_576, letters: 50 };
/** The most customers that one piece erases. */
const MAX_TOGETHER = 100;

export interface ErasedPiece {
  erased: number;
  isLast: boolean;
  given: GivenPositions;
}

/** Erases in the session's transaction. @param documents how many are read, at most. */
export async function erasePiece(
  db: Db,
  session: ClientSession,
  storeId: string,
  documents: number,
  epochs: Epochs,
): Promise<ErasedPiece> {
  const stamp = await stampsIn(db).findOne({ _id: storeId }, { session });
  const before = stamp?.position ?? 0;
  const next = await erasuresIn(db)
    .find(
      { store_id: storeId, _id: idsOfStore(storeId) },
      { session, sort: { position: 1, _id: 1 }, hint: 'by_position', limit: MAX_TOGETHER + 1 },
    )
    .toArray();
  const work: Erasing = {
    db,
    session,
    storeId,
    budget: { documents, characters: MAX_PIECE.characters },
    taken: { position: before, positions: {} },
  };
  const together = firstOf(next);
  const reached = await eraseTogether(work, together);
  await noteProgress(db, session, together, reached);
  const isLast = reached.size === 0 && next.length === together.length;
  if (isLast) await dequeueStore(db, session, storeId);
  const given = await writeStamp(work, stamp, isLast, epochs);
  return { erased: work.taken.position - before, isLast, given };
}

/**
 * The erasures that one piece continues: one in the middle of a collection, or several at the same
 * collection.
 */
function firstOf(next: readonly Erasure[]): readonly Erasure[] {
  const first = next[0]?.done;
  if (first !== undefined && first.after !== '') return next.slice(0, 1);
  const other = next.findIndex(
    ({ done }) => done?.collection !== first?.collection || (done?.after ?? '') !== '',
  );
  return next.slice(0, Math.min(other === -1 ? next.length : other, MAX_TOGETHER));
}

/** The progress of unfinished erasures; `null` for one that was not begun. */
type Reached = Map<string, ErasureProgress | null>;

/** Erases within the budget. @returns the erasures that are not done. */
async function eraseTogether(work: Erasing, erasures: readonly Erasure[]): Promise<Reached> {
  const reached: Reached = new Map();
  let { collection, after } = erasures[0]?.done ?? { collection: '', after: '' };
  const idOf = (erasure: Erasure) => erasure._id.slice(erasure.store_id.length + 1);
  for (const [index, entity] of NAMING_CUSTOMERS.entries()) {
    // Kinds before this one are done.
    if (collection !== '' && collection !== COLLECTIONS[entity]) continue;
    const open = erasures.filter(({ _id }) => !reached.has(_id));
    const targets = open.map((erasure) => ({ id: idOf(erasure), upTo: erasure.position, after }));
    const end = await eraseKind(work, entity, targets);
    [collection, after] = ['', ''];
    if (end === null) continue;
    for (const erasure of open) {
      const id = idOf(erasure);
      if (id < end.id) continue;
      const isBegun = index > 0 || (id === end.id && end.after !== '');
      const progress = { collection: COLLECTIONS[entity], after: id === end.id ? end.after : '' };
      reached.set(erasure._id, isBegun ? progress : null);
    }
  }
  const open = erasures.filter(({ _id }) => !reached.has(_id));
  const { db, session } = work;
  const customers = open.map(({ _id }) => _id);
  if (
    open.length > 0 &&
    (await eraseLetters(db, session, lettersOf(open), customers, MAX_PIECE.letters))
  ) {
    for (const { _id } of open) reached.set(_id, { collection: DEAD_LETTERS, after: '' });
  }
  return reached;
}

/** Letters that name customers and were written up to their erasures. */
function lettersOf(erasures: readonly Erasure[]): Filter<DeadLetter> {
  return {
    $or: erasures.map(({ _id, store_id, position }) => ({
      customers: { $in: [_id, ...anybodyIn([store_id])] },
      [`positions.${store_id}`]: { $not: { $gt: position } },
    })),
  };
}

async function noteProgress(
  db: Db,
  session: ClientSession,
  erasures: readonly Erasure[],
  reached: Reached,
) {
  const operations = erasures.flatMap(({ _id }): AnyBulkWriteOperation<Erasure>[] => {
    const done = reached.get(_id);
    if (done === undefined) return [{ deleteOne: { filter: { _id } } }];
    return done === null ? [] : [{ updateOne: { filter: { _id }, update: { $set: { done } } } }];
  });
  await writeAll(erasuresIn(db), operations, session);
}

/** The last write, so that it seldom conflicts with a slice of the store in another process. */
async function writeStamp(
  { db, session, storeId, taken }: Erasing,
  before: Stamp | null,
  isLast: boolean,
  epochs: Epochs,
): Promise<GivenPositions> {
  const given = new Map<string, Given>();
  const update: UpdateFilter<Stamp> = isLast ? { $unset: { erasing: '' } } : {};
  if (before !== null && taken.position > (before.position ?? 0)) {
    const after = epochs.fieldsAfter(storeId, before, taken);
    update.$set = after.fields;
    given.set(storeId, after.given);
  }
  if (Object.keys(update).length > 0) {
    await stampsIn(db).updateOne({ _id: storeId }, update, { session });
  }
  epochs.forget(given);
  return given;
}
