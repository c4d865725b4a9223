/**
 * The way of a slice of the changes topic, inside one transaction: decode → fold → read → plan → write. Before it, as the
 * transaction's first write, the checkpoint has moved (`commitSlice` of the projector's `consumer/consumer.ts`).
 */
import type { ClientSession, Db } from 'mongodb';
import { EventRejected } from '../../events/rejection.ts';
import { type DeadLetter, documentId } from '../../read-models/collections.ts';
import type { Slice } from '../slice/slice.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';
import type { LetterLimits } from '../dead-letters/limits.ts';
import { type Deletions, writeDeadLetters } from '../dead-letters/write.ts';
import { decode, type Rejected } from './decode.ts';
import { Epochs, type GivenPositions } from './epochs.ts';
import { fold } from './fold.ts';
import { plan, type Plan } from './plan.ts';
import { readStored } from './stored.ts';
import { writePlan } from './write.ts';

export interface ApplyOptions {
  /** For dead letters; `null` where they replace letters that are there. */
  limits?: Pick<LetterLimits, 'admit'> | null;
  /** Whether the slice is its partition's next one: stamps name it then. */
  isNext?: boolean;
  /** Of this process and generation; told by the caller once the transaction is committed (`AppliedSlice.given`). */
  epochs?: Epochs;
}

export interface AppliedSlice {
  plan: Plan | null;
  deadLetters: DeadLetter[];
  /** The positions that are given by it. */
  given: GivenPositions;
}

/**
 * Applies a slice in the session's transaction.
 * @param hopeless given when the slice's only message failed again and again: it becomes a dead letter unseen.
 */
export async function applyChanges(
  db: Db,
  session: ClientSession,
  slice: Slice,
  hopeless: unknown,
  { limits = null, isNext = false, epochs = new Epochs() }: ApplyOptions = {},
): Promise<AppliedSlice> {
  if (hopeless !== null) return setAside(db, session, slice, limits);
  const { entries, rejected } = decode(slice.messages);
  const chains = fold(entries);
  const stored = await readStored(db, session, chains);
  const planned = plan(chains, stored);
  // What they hold would outlive several collections of garbage while the transaction goes on.
  chains.clear();
  entries.length = 0;
  const given = await writePlan(db, session, planned, stored, slice.partition, {
    epochs,
    slice: isNext ? slice : null,
  });
  const deadLetters = lettersOf(slice, [...rejected, ...planned.failed]);
  await writeDeadLetters(db, session, deadLetters, limits, deletionsIn(slice.messages, planned));
  epochs.forget(given);
  return { plan: planned, deadLetters, given };
}

/** The slice's only message failed again and again: it becomes a dead letter unseen. */
async function setAside(
  db: Db,
  session: ClientSession,
  slice: Slice,
  limits: NonNullable<ApplyOptions['limits']> | null,
): Promise<AppliedSlice> {
  const rejection = new EventRejected('projection_failed', 'its transaction failed again and again');
  const deadLetters = lettersOf(
    slice,
    slice.messages.map((_, at) => ({ at, rejection })),
  );
  await writeDeadLetters(db, session, deadLetters, limits);
  return { plan: null, deadLetters, given: new Map() };
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
      [...deletions].map(([id, at]): [string, number] => [
        documentId(storeId, id),
        Number(messages[at]?.offset),
      ]),
    ),
  );
}
