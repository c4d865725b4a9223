/** Applies events as one slice of a partition in a transaction, like the projector. */
import type { ClientSession, Db } from 'mongodb';
import type { FindErased } from '#shared/access/erased-stores.ts';
import { isUnavailable } from '#shared/errors.ts';
import { type AppliedSlice, applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { runInTransaction, type Slice } from '#shared/projection/slice/checkpoint.ts';
import { type Difference, repairStore, verifyStore } from '#shared/projection/verify/store.ts';
import { changeEvent, kafkaMessage, type TestChange } from './events.ts';

let sequence = 0;

/** A slice of changes with increasing sequences. */
export function sliceOf(changes: readonly TestChange[]): Slice {
  const messages = changes.map((change) => {
    sequence += 1;
    return kafkaMessage(changeEvent(change, sequence), sequence);
  });
  return { topic: 't', partition: 0, messages, next: sequence + 1 };
}

/** For installations without erased stores. */
export const findErased: FindErased = async () => ({ skips: () => false, times: new Map() });

/** What `verify` finds wrong in the store `s1`. */
export function differencesIn(db: Db): Promise<Difference[]> {
  return db.client.withSession((session) => verifyStore(db, session, 's1'));
}

/** Repairs the store `s1`. */
export const repair = (db: Db) => repairStore(db, 's1', findErased);

type Options = Omit<Parameters<typeof applyChanges>[3], 'epochs' | 'findErased'> & {
  epochs?: Epochs;
  /** Whether the outcome of the commit is known. */
  isKnown?: boolean;
};

export async function applyEvents(
  db: Db,
  changes: readonly TestChange[],
  options: Options = {},
): Promise<void> {
  const { epochs = new Epochs(), isKnown = true, ...others } = options;
  const slice = sliceOf(changes);
  const { given } = await inTransaction(db, (session) =>
    applyChanges(db, session, slice, { findErased, ...others, epochs }),
  );
  if (isKnown) epochs.committed(given);
}

/** Runs work in a transaction, with retries if a busy server interrupts it. */
export async function inTransaction<R extends object = AppliedSlice>(
  db: Db,
  work: (session: ClientSession) => Promise<R>,
): Promise<R> {
  for (;;) {
    const session = db.client.startSession();
    try {
      return await runInTransaction<R>(session, () => work(session));
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    } finally {
      await session.endSession();
    }
  }
}
