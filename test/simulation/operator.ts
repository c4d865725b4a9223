/**
 * An operator's retry of a dead letter, like `dead-letters retry`: a separate slice that does not
 * move the checkpoint.
 */
import type { ClientSession, Db } from 'mongodb';
import type { EncodedMessage } from '#shared/events/topics.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';
import { newEpoch } from '#shared/read-models/feed-epochs.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { checkpointId, runInTransaction } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { findErased } from '#test/slices.ts';
import { CACHED, TOPIC } from './projector.ts';
import type { Client } from './store.ts';

/** The collection in which the retrying transaction notes the retry for the world. */
export const RETRIES = 'retries';
let retries = 0;

export async function retryLetter(
  client: Client,
  generation: string,
  partition: number,
  { key, value, headers }: EncodedMessage,
): Promise<void> {
  const db = client.db(generation);
  const session = client.startSession();
  const place = { offset: '0', timestamp: '0', attributes: 0 };
  const message = { key: Buffer.from(key), value: Buffer.from(value), headers, ...place };
  retries += 1;
  await runInTransaction(session as unknown as ClientSession, async () => {
    const checkpoint = await db
      .collection(CHECKPOINTS)
      .findOne({ _id: checkpointId(TOPIC, partition) }, { session });
    const slice = { topic: TOPIC, partition, messages: [message], next: 0 };
    await applyChanges(db as unknown as Db, session as unknown as ClientSession, slice, {
      findErased,
      epochs: new Epochs(newEpoch, CACHED),
      reader: new ChangeReader(CACHED),
    });
    const position = Number(checkpoint?.['position'] ?? 0);
    await db
      .collection(RETRIES)
      .insertMany([{ _id: `${retries}`, partition, position, value: message.value }], { session });
  });
}
