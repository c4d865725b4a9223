/** Reads parts of a topic again, one partition at a time, in a group of its own. Placeholders are among the messages. */
import { randomUUID } from 'node:crypto';
import type { Admin, Consumer, ConsumerConfig, EachBatchPayload } from 'kafkajs';
import type { Db } from 'mongodb';
import { StoreDataError, unavailable } from '../errors.ts';
import { skippedTo } from '../projection/dead-letters/decisions.ts';
import { withTimeLimit } from '../waiting.ts';
import { isGap, type LogMessage, offsetsInWords, type UnreadableBatch } from './message.ts';
import { type LogBounds, readLogBounds } from './positions.ts';

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

export class LogReader {
  readonly #topic: string;
  readonly #groupId: string;
  readonly #admin: Admin;
  readonly #consumer: Consumer;
  readonly #control: Db;
  #assigned: readonly number[] = [];
  #task: Task | null = null;

  private constructor(topic: string, groupId: string, admin: Admin, consumer: Consumer, control: Db) {
    this.#topic = topic;
    this.#groupId = groupId;
    this.#admin = admin;
    this.#consumer = consumer;
    this.#control = control;
  }

  static async open(servers: LogServers, topic: string): Promise<LogReader> {
    const groupId = `${servers.config.namePrefix}.reader.${randomUUID()}`;
    const kafka = servers.kafkaOf(topic);
    const consumer = await kafka.consumer(groupId, { maxBytesPerPartition: FETCH_BYTES });
    const admin = await kafka.admin();
    const reader = new LogReader(topic, groupId, admin, consumer, await servers.control());
    try {
      await reader.#join();
      return reader;
    } catch (error) {
      await reader.close();
      throw error;
    }
  }

  static async with<T>(servers: LogServers, topic: string, work: (reader: LogReader) => Promise<T>): Promise<T> {
    const reader = await LogReader.open(servers, topic);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  async #join(): Promise<void> {
    const { GROUP_JOIN, CRASH } = this.#consumer.events;
    const joined = Promise.withResolvers<void>();
    this.#consumer.on(GROUP_JOIN, ({ payload }) => {
      this.#assigned = payload.memberAssignment[this.#topic] ?? [];
      this.#pause(this.#assigned);
      if (this.#task !== null) this.#resume(this.#task);
      joined.resolve();
    });
    this.#consumer.on(CRASH, ({ payload: { error } }) => {
      joined.reject(error);
      this.#task?.failed(error);
    });
    await this.#consumer.subscribe({ topics: [this.#topic], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => this.#takeBatch(payload),
    });
    const late = () => this.#unavailable('cannot be read: no group was joined');
    await withTimeLimit(JOIN_MS, late, () => joined.promise);
  }

  bounds(): Promise<LogBounds> {
    return readLogBounds(this.#admin, this.#topic);
  }

  /**
   * Hands out a partition's messages from `from` up to, but without, `to`, in batches. One part at a time.
   * @throws {StoreDataError} `history_lost` when the log does not hold that part, `environment_unavailable` when it brings nothing for
   * long, `batch_unreadable` for an unreadable batch whose end is unknown; and what `take` throws.
   */
  async read(
    { partition, from, to }: { partition: number; from: number; to: number },
    take: Task['take'],
  ): Promise<void> {
    if (from >= to) return;
    const bounds = (await this.bounds()).get(partition);
    if (bounds === undefined || from < bounds.start || to > bounds.end) {
      const holds = bounds === undefined ? 'nothing' : `${bounds.start} to ${bounds.end}`;
      throw new StoreDataError(
        'history_lost',
        `${this.#topic}/${partition} holds ${holds}, and ${from} to ${to} is to be read`,
      );
    }
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<void>();
    const task: Task = { partition, next: from, to, take, done, failed };
    this.#task = task;
    this.#watch(task);
    this.#resume(task);
    try {
      await promise;
    } finally {
      clearTimeout(task.silence);
      this.#task = null;
      this.#pause([partition]);
    }
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect();
    await this.#admin.deleteGroups([this.#groupId]).catch(() => undefined);
  }

  async #takeBatch({ batch, resolveOffset, heartbeat, isStale }: EachBatchPayload): Promise<void> {
    const task = this.#task;
    if (task === null || task.partition !== batch.partition || isStale()) return;
    const fetched: readonly LogMessage[] = batch.messages;
    const messages = fetched.filter((message) => !isGap(message) && isWanted(message, task));
    try {
      // The time of `take` does not count.
      clearTimeout(task.silence);
      if (messages.length > 0) await task.take(messages);
      const open = messages.map(({ unreadable }) => unreadable).find((one) => one?.to === null);
      if (open !== undefined && task.next + 1 < task.to) return await this.#goBehind(task, open);
    } catch (error) {
      task.failed(error);
      return;
    }
    if (this.#task !== task) return;
    resolveOffset(batch.lastOffset());
    this.#advance(task, Number(batch.lastOffset()) + 1);
    await heartbeat();
  }

  /** Continues behind an unreadable batch of unknown end, if an operator decided where it ends. */
  async #goBehind(task: Task, open: UnreadableBatch): Promise<void> {
    const to = await skippedTo(this.#control, this.#topic, task.partition, open);
    if (to === null) {
      throw new StoreDataError(
        'batch_unreadable',
        `${this.#topic}/${task.partition}: the record batch of the offsets ${offsetsInWords(open)} cannot be read: ${open.detail}`,
      );
    }
    if (this.#task !== task) return;
    this.#advance(task, to + 1);
    this.#resume(task);
  }

  #advance(task: Task, next: number): void {
    task.next = Math.max(task.next, next);
    this.#watch(task);
    if (task.next >= task.to) task.done();
  }

  #watch(task: Task): void {
    const { partition, next, failed } = task;
    clearTimeout(task.silence);
    task.silence = setTimeout(
      () => failed(this.#unavailable(`brings nothing of ${partition} from ${next} on`)),
      SILENCE_MS,
    );
  }

  #unavailable(why: string): StoreDataError {
    return unavailable(`${this.#topic} ${why}`);
  }

  #resume({ partition, next }: Task): void {
    if (!this.#assigned.includes(partition)) return;
    this.#consumer.seek({ topic: this.#topic, partition, offset: String(next) });
    this.#consumer.resume([{ topic: this.#topic, partitions: [partition] }]);
  }

  #pause(partitions: readonly number[]): void {
    if (partitions.length > 0) this.#consumer.pause([{ topic: this.#topic, partitions: [...partitions] }]);
  }
}

/** Whether a message, or an offset of its placeholder, lies in the part. */
function isWanted(message: LogMessage, { next, to }: Task): boolean {
  const offset = Number(message.offset);
  const batch = message.unreadable;
  return (batch?.to ?? offset) >= next && (batch?.from ?? offset) < to;
}
