/** Applies events as one slice of a partition, in a transaction, as the projector does. */
import type { ClientSession, Db } from 'mongodb';
import { isUnavailable } from '#shared/errors.ts';
import { encodeEvent, type EventToEncode } from '#shared/events/encode.ts';
import { type AppliedSlice, applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { runInTransaction, type Slice } from '#shared/projection/slice/slice.ts';

export type TestEvent = Omit<EventToEncode, 'source' | 'sequence'>;

let sequence = 0;

/** A slice of events that are newer than all before. */
export function sliceOf(events: readonly TestEvent[]): Slice {
  const messages = events.map((event) => {
    sequence += 1;
    const { key, value, headers } = encodeEvent({ source: '/test', ...event, sequence });
    const bytes = { key: Buffer.from(key), value: Buffer.from(value), headers };
    return { ...bytes, timestamp: '0', attributes: 0, offset: String(sequence) };
  });
  return { topic: 't', partition: 0, messages, next: sequence + 1 };
}

type Options = Omit<Parameters<typeof applyChanges>[3], 'epochs'> & {
  epochs?: Epochs;
  /** Whether the outcome of the commit is learned. */
  isKnown?: boolean;
};

/** Applies events to read models. */
export async function applyEvents(db: Db, events: readonly TestEvent[], options: Options): Promise<void> {
  const { epochs = new Epochs(), isKnown = true, ...others } = options;
  const slice = sliceOf(events);
  const { given } = await inTransaction(db, (session) =>
    applyChanges(db, session, slice, { ...others, epochs }),
  );
  if (isKnown) epochs.committed(given);
}

/** Runs work in a transaction, again where a busy server interrupts it. */
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
