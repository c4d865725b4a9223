/** Applies a change by the retry of a dead letter, as after a release that could not apply it. */
import { readConfig } from '#shared/config.ts';
import { encodeEvent, changesTopic } from '#shared/events/topics.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { Databases, findLiveGeneration } from '#shared/read-models/generation.ts';
import type { StreamChange } from './adversarial-stream.ts';
import type * as Api from './api.d.ts';
import { asEvent } from './connect.ts';

/** Above the offsets of the messages that a proof publishes. */
const FIRST_OFFSET = 1_000_000;

/** Stores the change as a dead letter, and retries it. @param retry gets the letter's id. */
export async function retryAsLetter(
  { environment, settings }: Api.Connection,
  change: StreamChange,
  retry: (letterId: string) => Promise<unknown>,
): Promise<void> {
  const config = readConfig({ ...process.env, ...settings });
  await using mongodb = createWriterClient(config, 'store-data-testing');
  const live = await findLiveGeneration(new Databases(config.namePrefix, mongodb), environment);
  if (live === null) throw new Error(`${environment} has no generation`);
  const letter = letterOf(change, environment);
  await live.db.collection<DeadLetter>(DEAD_LETTERS).insertOne(letter);
  await retry(letter._id);
}

export function letterOf(change: StreamChange, environment: string): DeadLetter {
  const { key, value, headers } = encodeChange(change);
  const message = {
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers,
    timestamp: String(change.time.getTime()),
    attributes: 0,
    offset: String(FIRST_OFFSET + change.sequence),
  };
  const rejection = new EventRejected('projection_failed', 'a mistake of an earlier release');
  return toDeadLetter(changesTopic(environment), 0, message, rejection);
}

export const encodeChange = (change: StreamChange) => encodeEvent(asEvent(change, change.sequence));
