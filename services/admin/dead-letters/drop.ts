/** Drops dead letters: the decision is noted first, so that no generation comes up with them again. */
import {
  type DroppedLetter,
  decisionAbout,
  droppedLettersIn,
} from '#shared/projection/dead-letters/dropped.ts';
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
  const boxes = [box, ...(await otherBoxes(servers, box))];
  let dropped = 0;
  let decisions: DroppedLetter[] = [];
  let ids: string[] = [];
  const flush = async () => {
    if (ids.length === 0) return;
    if (box.kind === 'changes') await note(servers, decisions);
    const [first, ...others] = boxes.map(({ letters }) => letters);
    const filter = { _id: { $in: ids } };
    for (const letters of others) await letters.deleteMany(filter);
    dropped += (await first?.deleteMany(filter))?.deletedCount ?? 0;
    decisions = [];
    ids = [];
  };
  for await (const letter of findSummaries(box, letterFilter(box, selection))) {
    decisions.push(decisionAbout(letter));
    ids.push(letter._id);
    if (ids.length === AT_ONCE) await flush();
  }
  await flush();
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
