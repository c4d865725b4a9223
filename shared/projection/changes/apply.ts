/** Applying a slice of the changes topic: fold, read what is stored, plan, write. One call inside one transaction. */
import type { ClientSession, Db } from 'mongodb';
import { EventRejected } from '../../events/rejection.ts';
import { type DeadLetter, documentId } from '../../read-models/collections.ts';
import type { Slice } from '../slice/slice.ts';
import { toDeadLetter } from '../dead-letters/letter.ts';
import type { LetterLimits } from '../dead-letters/limits.ts';
import { type Deletions, writeDeadLetters } from '../dead-letters/write.ts';
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
  const { topic, partition, messages } = slice;
  if (hopeless !== null) {
    const rejection = new EventRejected('projection_failed', 'its transaction failed again and again');
    const deadLetters = messages.map((message) => toDeadLetter(topic, partition, message, rejection));
    await writeDeadLetters(db, session, deadLetters, limits);
    return { plan: null, deadLetters, given: new Map() };
  }
  const { chains, rejected } = fold(messages);
  const deadLetters = rejected.map(({ message, rejection }) =>
    toDeadLetter(topic, partition, message, rejection),
  );
  let planned: Plan | null = null;
  let given: GivenPositions = new Map();
  if (chains.size > 0) {
    const stored = await readStored(db, session, chains);
    planned = plan(chains, stored);
    // What they hold would outlive several collections of garbage while the transaction goes on.
    chains.clear();
    for (const { at, rejection } of planned.failed) {
      const message = messages[at];
      if (message !== undefined) deadLetters.push(toDeadLetter(topic, partition, message, rejection));
    }
    given = await writePlan(db, session, planned, stored, partition, {
      epochs,
      slice: isNext ? slice : null,
    });
  }
  await writeDeadLetters(db, session, deadLetters, limits, deletionsIn(messages, planned));
  epochs.forget(given);
  return { plan: planned, deadLetters, given };
}

function deletionsIn(messages: Slice['messages'], planned: Plan | null): Deletions {
  return new Map(
    [...(planned?.erased ?? [])].flatMap(([storeId, deletions]) =>
      [...deletions].map(([id, at]): [string, number] => [
        documentId(storeId, id),
        Number(messages[at]?.offset),
      ]),
    ),
  );
}
