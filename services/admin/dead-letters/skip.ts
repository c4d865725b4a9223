/** Has a record batch that cannot be read passed by: found in Kafka first, so that nothing else is. */
import type { KafkaMessage } from 'kafkajs';
import type { Db } from 'mongodb';
import { commandInvalid, type StoreDataError } from '#shared/errors.ts';
import { offsetsInWords, type UnreadableBatch, unreadableBatch } from '#shared/kafka/unreadable.ts';
import { decisionToSkip, skippedBatchesIn } from '#shared/projection/slice/skips.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '../log/reader.ts';

export interface Place {
  topic: string;
  partition: number;
  offset: number;
}

/**
 * The batch at an offset, and where the partition's log ends.
 * @throws {StoreDataError} `command_invalid` when what lies there can be read, `history_lost` when nothing lies there.
 */
export async function findUnreadable(
  servers: Servers,
  place: Place,
): Promise<{ batch: UnreadableBatch; logEnd: number }> {
  const { messages, logEnd } = await readAt(servers, place);
  const batch = messages.map(unreadableBatch).find((found) => found !== undefined);
  if (batch === undefined) throw canBeRead(place);
  return { batch, logEnd };
}

/**
 * Checks that what an operator names as the last offset cannot be read: it may lie in another batch, which is not lost then.
 * @throws {StoreDataError} `command_invalid` when it can.
 */
export async function checkCannotBeRead(servers: Servers, place: Place): Promise<void> {
  const { messages } = await readAt(servers, place);
  const found = messages.find(({ offset }) => Number(offset) === place.offset);
  if (found !== undefined && unreadableBatch(found) === undefined) throw canBeRead(place);
}

/** What the broker answers for one offset: what lies behind it may come in its place. */
async function readAt(
  servers: Servers,
  { topic, partition, offset }: Place,
): Promise<{ messages: KafkaMessage[]; logEnd: number }> {
  const reader = await LogReader.open(servers, topic);
  try {
    const logEnd = (await reader.bounds()).get(partition)?.end ?? 0;
    const messages: KafkaMessage[] = [];
    await reader.read({ partition, from: offset, to: offset + 1 }, (read) => {
      messages.push(...read);
    });
    return { messages, logEnd };
  } finally {
    await reader.close();
  }
}

function canBeRead({ topic, partition, offset }: Place): StoreDataError {
  return commandInvalid(`what lies at ${topic}/${partition}/${offset} can be read: nothing is passed by`);
}

/**
 * The last offset that is to be passed by.
 * @param given what the operator says.
 * @param logEnd the offset behind the log's last one: a position beyond it would count as lost history for ever.
 * @throws {StoreDataError} `command_invalid` when it cannot be told, or is another than the operator says.
 */
export function lastToSkip(batch: UnreadableBatch, given: number | undefined, logEnd: number): number {
  const offsets = offsetsInWords(batch);
  if (batch.to === null) {
    if (given === undefined) {
      throw commandInvalid(
        `the batch has the offsets ${offsets}, and where it ends cannot be told: give --to, the last offset to pass by`,
      );
    }
    if (given < batch.from) {
      throw commandInvalid(`the batch has the offsets ${offsets}: --to lies before it`);
    }
    if (given >= logEnd) {
      throw commandInvalid(
        `the batch has the offsets ${offsets}, and the log ends with ${logEnd - 1}: --to lies beyond it`,
      );
    }
    return given;
  }
  if (given !== undefined && given !== batch.to) {
    throw commandInvalid(
      `the batch has the offsets ${offsets}: leave out --to, no more than that is passed by`,
    );
  }
  return batch.to;
}

/** Notes the decision; projectors follow it within a second or two. */
export async function noteSkip(
  control: Db,
  { topic, partition }: Place,
  batch: UnreadableBatch,
  to: number,
): Promise<void> {
  const { _id, ...decision } = decisionToSkip(topic, partition, batch, to);
  await skippedBatchesIn(control).replaceOne({ _id }, decision, {
    upsert: true,
    writeConcern: { w: 'majority' },
  });
}
