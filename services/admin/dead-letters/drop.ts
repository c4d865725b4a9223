/** Drops dead letters: the decision is noted first, so that no generation comes up with them again. */
import {
  type DroppedLetter,
  decisionAbout,
  droppedLettersIn,
} from '#shared/projection/dead-letters/dropped.ts';
import { inBatches } from '#shared/batches.ts';
import type { Servers } from '../connection/servers.ts';
import { type LetterBox, otherBoxes } from './boxes.ts';
import { findSummaries, letterFilter, type LetterSelection } from './selection.ts';

const AT_ONCE = 1_000;

/** Drops what a selection has in a box, in other generations too. @returns how many letters of the box itself. */
export async function dropLetters(
  servers: Servers,
  box: LetterBox,
  selection: LetterSelection,
): Promise<number> {
  const others = (await otherBoxes(servers, box)).map(({ letters }) => letters);
  let dropped = 0;
  for await (const batch of inBatches(findSummaries(box, letterFilter(box, selection)), AT_ONCE)) {
    if (box.kind === 'changes') await note(servers, batch.map(decisionAbout));
    const filter = { _id: { $in: batch.map(({ _id }) => _id) } };
    for (const letters of others) await letters.deleteMany(filter);
    dropped += (await box.letters.deleteMany(filter)).deletedCount;
  }
  return dropped;
}

async function note(servers: Servers, decisions: readonly DroppedLetter[]): Promise<void> {
  await droppedLettersIn(await servers.control()).bulkWrite(
    decisions.map(({ _id, ...replacement }) => ({
      replaceOne: { filter: { _id }, replacement, upsert: true },
    })),
    { ordered: false },
  );
}
