/** Applies a slice in one transaction. The checkpoint is written first: a process that lost the partition writes nothing. */
import type { ClientSession, Db } from 'mongodb';
import type { FindErased } from '../../access/erased-stores.ts';
import { type DeadLetter, documentId } from '../../read-models/collections.ts';
import type { Slice } from '../slice/slice.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';
import { type Deletions, type LetterLimits, writeDeadLetters } from '../dead-letters/write.ts';
import { decode, fold, type Rejected, withoutErasedStores, ChangeReader } from './decode.ts';
import { TreeCache } from '../rank-tree/loaded-tree.ts';
import { Epochs, type GivenPositions } from '../slice/epochs.ts';
import { plan, type Plan } from './plan.ts';
import { readStored } from './stored.ts';
import { writePlan } from './write.ts';

interface ApplyOptions {
  /** For dead letters; `null` if they replace existing letters. */
  limits?: Pick<LetterLimits, 'admit'> | null;
  /** Moves the partition's checkpoint behind the slice; absent unless the slice is the partition's next one. */
  checkpoint?: () => Promise<void>;
  findErased: FindErased;
  /** Those of this process and generation. The caller reports `AppliedSlice.given` to them once committed. */
  epochs?: Epochs;
  reader?: ChangeReader;
  trees?: TreeCache;
}

export interface AppliedSlice {
  plan: Plan;
  deadLetters: DeadLetter[];
  given: GivenPositions;
}

export async function applyChanges(
  db: Db,
  session: ClientSession,
  slice: Slice,
  {
    limits = null,
    checkpoint,
    findErased,
    epochs = new Epochs(),
    reader = new ChangeReader(),
    trees = new TreeCache(),
  }: ApplyOptions,
): Promise<AppliedSlice> {
  await checkpoint?.();
  const decoded = decode(slice.messages, reader);
  let chains = fold(decoded.entries);
  const stored = await readStored(db, session, chains);
  const left = await withoutErasedStores(slice, decoded, stored.stamps, findErased);
  if (left.passedBy > 0) chains = fold(left.entries);
  const planned = plan(chains, stored);
  planned.outdated += left.passedBy;
  // Freed early: they would survive several garbage collections until the transaction ends.
  chains.clear();
  decoded.entries.length = 0;
  left.entries.length = 0;
  const given = await writePlan(db, session, planned, stored, slice.partition, {
    epochs,
    trees,
    erasedAt: left.erasedAt,
    // Stamps name the slice that is its partition's next one.
    slice: checkpoint === undefined ? null : slice,
  });
  const deadLetters = lettersOf(slice, [...left.rejected, ...planned.failed]);
  await writeDeadLetters(db, session, deadLetters, limits, deletionsIn(slice.messages, planned));
  epochs.forget(given);
  return { plan: planned, deadLetters, given };
}

function lettersOf({ topic, partition, messages }: Slice, rejected: readonly Rejected[]): DeadLetter[] {
  return rejected.flatMap(({ at, rejection }) => {
    const message = messages[at];
    return message === undefined ? [] : [toDeadLetter(topic, partition, message, rejection)];
  });
}

function deletionsIn(messages: Slice['messages'], { erased }: Plan): Deletions {
  return new Map(
    [...erased].flatMap(([storeId, deletions]) =>
      [...deletions].map(([id, at]): [string, number] => [documentId(storeId, id), Number(messages[at]?.offset)]),
    ),
  );
}
