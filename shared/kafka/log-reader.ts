/** Reads parts of a topic again, one partition at a time, in a group of its own. Placeholders are among the messages. */
import { randomUUID } from 'node:crypto';
import type { Admin, Consumer, ConsumerConfig, EachBatchPayload } from 'kafkajs';
import type { Db } from 'mongodb';
import { StoreDataError, unavailable } from '../errors.ts';
import { skippedTo } from '../projection/dead-letters/decisions.ts';
import { withTimeLimit } from '../waiting.ts';
import { isGap, type LogMessage, offsetsInWords, type UnreadableBatch } from './message.ts';
import { readLogBounds } from './positions.ts';

const JOIN_MS = 20_000;
/** A part that brings nothing for this time is given up. */
const SILENCE_MS = 30_000;
const FETCH_BYTES = 4_194_304;

interface LogServers {
  config: { namePrefix: string };
  control: () => Promise<Db>;
  kafkaOf: (topic: string) => {
    admin: () => Promise<Admin>;
    consumer: (groupId: string, options: Omit<ConsumerConfig, 'groupId'>) => Promise<Consumer>;
  };
}

interface Task {
  partition: number;
  next: number;
  to: number;
  take: (messages: readonly LogMessage[]) => Promise<void> | void;
  done: () => void;
  failed: (error: unknown) => void;
  silence?: NodeJS.Timeout;
}

export type LogReader = Awaited<ReturnType<typeof openLogReader>>;

export async function withLogReader<T>(
  servers: LogServers,
  topic: string,
  work: (reader: LogReader) => Promise<T>,
): Promise<T> {
  const reader = await openLogReader(servers, topic);
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

export async function openLogReader(servers: LogServers, topic: string) {
  const groupId = `${servers.config.namePrefix}.reader.${randomUUID()}`;
  const kafka = servers.kafkaOf(topic);
  const consumer = await kafka.consumer(groupId, { maxBytesPerPartition: FETCH_BYTES });
  const admin = await kafka.admin();
  const control = await servers.control();
  let assigned: readonly number[] = [];
  let current: Task | null = null;

  const failure = (why: string) => unavailable(`${topic} ${why}`);

  const pause = (partitions: readonly number[]) => {
    if (partitions.length > 0) consumer.pause([{ topic, partitions: [...partitions] }]);
  };

  const resume = ({ partition, next }: Task) => {
    if (!assigned.includes(partition)) return;
    consumer.seek({ topic, partition, offset: String(next) });
    consumer.resume([{ topic, partitions: [partition] }]);
  };

  const watch = (task: Task) => {
    const { partition, next, failed } = task;
    clearTimeout(task.silence);
    task.silence = setTimeout(() => failed(failure(`brings nothing of ${partition} from ${next} on`)), SILENCE_MS);
  };

  const advance = (task: Task, next: number) => {
    task.next = Math.max(task.next, next);
    watch(task);
    if (task.next >= task.to) task.done();
  };

  /** Continues behind an unreadable batch of unknown end, if an operator decided where it ends. */
  const goBehind = async (task: Task, open: UnreadableBatch) => {
    const to = await skippedTo(control, topic, task.partition, open);
    if (to === null) {
      throw new StoreDataError(
        'batch_unreadable',
        `${topic}/${task.partition}: the record batch of the offsets ${offsetsInWords(open)} cannot be read: ${open.detail}`,
      );
    }
    if (current !== task) return;
    advance(task, to + 1);
    resume(task);
  };

  const takeBatch = async ({ batch, resolveOffset, heartbeat, isStale }: EachBatchPayload) => {
    const task = current;
    if (task === null || task.partition !== batch.partition || isStale()) return;
    const fetched: readonly LogMessage[] = batch.messages;
    const messages = fetched.filter((message) => !isGap(message) && isWanted(message, task));
    try {
      // The time of `take` does not count.
      clearTimeout(task.silence);
      if (messages.length > 0) await task.take(messages);
      const open = messages.map(({ unreadable }) => unreadable).find((one) => one?.to === null);
      if (open !== undefined && task.next + 1 < task.to) return await goBehind(task, open);
    } catch (error) {
      task.failed(error);
      return;
    }
    if (current !== task) return;
    resolveOffset(batch.lastOffset());
    advance(task, Number(batch.lastOffset()) + 1);
    await heartbeat();
  };

  const join = async () => {
    const joined = Promise.withResolvers<void>();
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      assigned = payload.memberAssignment[topic] ?? [];
      pause(assigned);
      if (current !== null) resume(current);
      joined.resolve();
    });
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) => {
      joined.reject(error);
      current?.failed(error);
    });
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: takeBatch });
    await withTimeLimit(
      JOIN_MS,
      () => failure('cannot be read: no group was joined'),
      () => joined.promise,
    );
  };

  const bounds = () => readLogBounds(admin, topic);
  const close = async () => {
    await consumer.disconnect();
    await admin.deleteGroups([groupId]).catch(() => undefined);
  };

  /**
   * Hands out a partition's messages from `from` up to, but without, `to`, in batches. One part at a time.
   * @throws {StoreDataError} `history_lost` when the log does not hold that part, `environment_unavailable` when it brings nothing for
   * long, `batch_unreadable` for an unreadable batch whose end is unknown; and what `take` throws.
   */
  const read = async (
    { partition, from, to }: { partition: number; from: number; to: number },
    take: Task['take'],
  ): Promise<void> => {
    if (from >= to) return;
    const log = (await bounds()).get(partition);
    if (log === undefined || from < log.start || to > log.end) {
      const holds = log === undefined ? 'nothing' : `${log.start} to ${log.end}`;
      throw new StoreDataError(
        'history_lost',
        `${topic}/${partition} holds ${holds}, and ${from} to ${to} is to be read`,
      );
    }
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<void>();
    const task: Task = { partition, next: from, to, take, done, failed };
    current = task;
    watch(task);
    resume(task);
    try {
      await promise;
    } finally {
      clearTimeout(task.silence);
      current = null;
      pause([partition]);
    }
  };

  try {
    await join();
    return { bounds, read, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether a message, or an offset of its placeholder, lies in the part. */
function isWanted(message: LogMessage, { next, to }: Task): boolean {
  const offset = Number(message.offset);
  const batch = message.unreadable;
  return (batch?.to ?? offset) >= next && (batch?.from ?? offset) < to;
}
