/** Reads parts of a topic again, without a consumer group. Placeholders are among the messages. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import type { Db } from 'mongodb';
import { isUnavailable, StoreDataError, unavailable } from '../errors.ts';
import { skippedTo } from '../projection/dead-letters/decisions.ts';
import { isGap, type LogMessage, offsetsInWords, type UnreadableBatch } from './message.ts';
import { readLogBounds } from './positions.ts';

/** A read gives up after this time without a message. */
const SILENCE_MS = 30_000;
const RETRY_MS = 200;
const FETCH = { maxWaitTime: 100, minBytes: 1, maxBytes: 4_194_304, isolationLevel: 1 };

/** The internal client of kafkajs, which fetches without joining a group. */
export interface Cluster {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  addTargetTopic: (topic: string) => Promise<void>;
  refreshMetadata: () => Promise<void>;
  findTopicPartitionMetadata: (topic: string) => { partitionId: number; leader: number }[];
  findBroker: (options: { nodeId: number }) => Promise<{ fetch: (request: object) => Promise<Fetched> }>;
}

interface Fetched {
  responses: { partitions: { messages: LogMessage[] }[] }[];
}

/** kafkajs hides it behind a symbol. Its version is pinned for that. */
export function createCluster(kafka: Kafka): Cluster {
  const hidden = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create = Reflect.get(kafka, hidden ?? '') as (options: object) => Cluster;
  return create({ allowAutoTopicCreation: false });
}

export type LogReader = Awaited<ReturnType<typeof createLogReader>>;

/** @param cluster connected, as `admin` is. */
export async function createLogReader(cluster: Cluster, admin: Admin, control: Db, topic: string) {
  await cluster.addTargetTopic(topic);
  const bounds = () => readLogBounds(admin, topic);

  const fetch = async (partition: number, from: number): Promise<readonly LogMessage[]> => {
    const found = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition);
    const broker = await cluster.findBroker({ nodeId: found?.leader ?? -1 });
    const place = { partition, fetchOffset: String(from), maxBytes: FETCH.maxBytes };
    const { responses } = await broker.fetch({ ...FETCH, topics: [{ topic, partitions: [place] }] });
    return responses[0]?.partitions[0]?.messages ?? [];
  };

  /** The next messages of a partition. The leader may move, or be away for a while. */
  const fetchNext = async (partition: number, from: number): Promise<readonly LogMessage[]> => {
    for (const since = performance.now(); ;) {
      try {
        const messages = await fetch(partition, from);
        if (messages.length > 0) return messages;
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        await sleep(RETRY_MS);
        await cluster.refreshMetadata().catch(() => undefined);
      }
      if (performance.now() - since > SILENCE_MS) {
        throw unavailable(`no message of ${topic}/${partition} from offset ${from} within ${SILENCE_MS / 1_000} s`);
      }
    }
  };

  /** The offset behind an unreadable batch of unknown end, if an operator decided where it ends. */
  const behind = async (partition: number, open: UnreadableBatch): Promise<number> => {
    const to = await skippedTo(control, topic, partition, open);
    if (to !== null) return to + 1;
    throw new StoreDataError(
      'batch_unreadable',
      `${topic}/${partition}: the record batch of the offsets ${offsetsInWords(open)} cannot be read: ${open.detail}`,
    );
  };

  /**
   * Hands out a partition's messages from `from` up to, but without, `to`, in batches.
   * @throws {StoreDataError} `history_lost` when the log does not hold that part, `environment_unavailable` when no message comes for
   * long, `batch_unreadable` for an unreadable batch whose end is unknown; and what `take` throws.
   */
  const read = async (
    { partition, from, to }: { partition: number; from: number; to: number },
    take: (messages: readonly LogMessage[]) => Promise<void> | void,
  ): Promise<void> => {
    if (from >= to) return;
    const log = (await bounds()).get(partition);
    if (log === undefined || from < log.start || to > log.end) {
      const holds = log === undefined ? 'nothing' : `${log.start} to ${log.end}`;
      const what = `${topic}/${partition} holds ${holds}, and ${from} to ${to} is to be read`;
      throw new StoreDataError('history_lost', what);
    }
    for (let next = from; next < to;) {
      const fetched = await fetchNext(partition, next);
      const messages = fetched.filter((message) => !isGap(message) && isWithin(message, next, to));
      if (messages.length > 0) await take(messages);
      const open = messages.find(({ unreadable }) => unreadable?.to === null)?.unreadable;
      const endIsKnown = open === undefined || next + 1 >= to;
      next = endIsKnown ? Number(fetched.at(-1)?.offset) + 1 : await behind(partition, open);
    }
  };

  return { bounds, read };
}

/** Whether a message, or an offset of its placeholder, lies in a part. */
function isWithin({ offset, unreadable }: LogMessage, from: number, to: number): boolean {
  return (unreadable?.to ?? Number(offset)) >= from && (unreadable?.from ?? Number(offset)) < to;
}
