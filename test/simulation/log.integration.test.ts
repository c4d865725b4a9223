/**
 * The log in memory behaves like Kafka: the same cases for both, read by the fetcher as loops do.
 */
import { randomUUID } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBrokers } from '#shared/kafka/brokers.ts';
import { createKafka, createTopics } from '#shared/kafka/client.ts';
import { createCluster, readLogBounds } from '#shared/kafka/cluster.ts';
import { type Answer, type Brokers, createFetcher, type Wanted } from '#shared/kafka/fetcher.ts';
import type { PartitionBounds } from '#shared/kafka/positions.ts';
import { createLogger } from '#shared/logging.ts';
import { type Clock, systemClock } from '#shared/waiting.ts';
import { createInstallation } from '#test/installation.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { encodeBatch } from '#test/record-batches.ts';
import { times } from '#test/times.ts';
import { makeTopicAnew, withAdmin } from '#test/topics.ts';
import { Random } from '../../deploy/testing/random.ts';
import { SimulatedBrokers } from './brokers.ts';
import { PartitionLog } from './log.ts';
import { type Host, Scheduler } from './scheduler.ts';

/** Longer than any immediate fetch. */
const NOTHING_MS = 1_000;
const FETCH_BYTES = 4_096;
const TOO_LARGE = 80 * 1_048_576;
/** The size of a value, of which a fetch holds a few. */
const LARGE = 'x'.repeat(1_000);

interface Log {
  bounds: () => Promise<PartitionBounds>;
  /**
   * Resolves with what the log has from an offset on; with `null` if it has nothing for a while.
   */
  read: (from: number, options?: Partial<Wanted & { forMs: number }>) => Promise<Answer | null>;
  /** Sends each value as a separate batch. */
  send: (...values: string[]) => Promise<void>;
  /** Sends a value in a transaction. @returns a function that ends it. */
  sendOpen: (value: string) => Promise<(isAborted: boolean) => Promise<void>>;
  /** Sends a batch of two messages that exceeds the decompressed limit. */
  sendUnreadable: () => Promise<void>;
  deleteBefore: (offset: number) => Promise<void>;
  makeAnew: () => Promise<void>;
}

interface Kind {
  open: () => Promise<Log>;
  close: () => Promise<void>;
}

/** Reads as a loop does, for a time. */
function readerOf(brokers: Brokers, clock: Clock): Log['read'] {
  const fetcher = createFetcher({ brokers, clock });
  return async (from, { bytes = FETCH_BYTES, atEnd = false, forMs = 10_000 } = {}) => {
    const over = new AbortController();
    void clock.sleep(forMs, over.signal).then(() => over.abort());
    return fetcher.read(0, { from, bytes, atEnd }, over.signal).finally(() => over.abort());
  };
}

async function kafkaLogs(): Promise<Kind> {
  const { config, kafka: tools, send, close } = await createInstallation({ partitions: 1 });
  const kafka = createKafka(config, 'test', createLogger('test', 'silent'));
  const ends: (() => Promise<void>)[] = [close];
  const open: Kind['open'] = async () => {
    const topic = `${config.namePrefix}-${randomUUID()}`;
    await withAdmin(tools, (admin) => createTopics(admin, [topic], { partitions: 1 }));
    const cluster = createCluster(kafka);
    await cluster.connect();
    const brokers = await connectBrokers(cluster, topic);
    ends.unshift(async () => {
      await cluster.disconnect();
      await withAdmin(tools, (admin) => admin.deleteTopics({ topics: [topic] }));
    });
    return {
      bounds: async () => {
        const { start = 0, end = 0 } = (await readLogBounds(cluster, topic)).get(0) ?? {};
        return { start, end };
      },
      read: readerOf(brokers, systemClock),
      send: async (...values) => {
        for (const value of values) await send(topic, [{ key: 's1', value }]);
      },
      sendOpen: async (value) => {
        const producer = tools.producer({
          transactionalId: randomUUID(),
          maxInFlightRequests: 1,
          idempotent: true,
        });
        await producer.connect();
        const transaction = await producer.transaction();
        await transaction.send({ topic, messages: [{ key: 's1', value }] });
        return async (isAborted) => {
          await (isAborted ? transaction.abort() : transaction.commit());
          await producer.disconnect();
        };
      },
      sendUnreadable: async () => {
        const codec = { number: 4, pack: zstdCompressSync };
        const values = [Buffer.alloc(TOO_LARGE), Buffer.from('u')];
        await produceRaw(tools, { topic, partition: 0 }, encodeBatch({ values, codec }));
      },
      deleteBefore: (to) =>
        withAdmin(tools, async (admin) => {
          // kafkajs does not refresh metadata here.
          await admin.fetchTopicOffsets(topic);
          await admin.deleteTopicRecords({
            topic,
            partitions: [{ partition: 0, offset: String(to) }],
          });
        }),
      makeAnew: () => makeTopicAnew(tools, topic),
    };
  };
  return {
    open,
    close: async () => {
      for (const end of ends) await end();
    },
  };
}

async function logsInMemory(): Promise<Kind> {
  const random = new Random(1);
  const scheduler = new Scheduler(random);
  const host: Host = { name: 'test', state: 'running' };
  const open: Kind['open'] = async () => {
    const log = new PartitionLog(random);
    const brokers = new SimulatedBrokers(
      { scheduler, random, logs: [log], leaders: [1], faultChance: 0 },
      host,
    );
    const changed = async (change: () => void) => {
      change();
      brokers.wake();
    };
    return {
      bounds: () => brokers.bounds(0),
      read: readerOf(brokers, scheduler.clockOf(host)),
      send: (...values) => changed(() => values.forEach((value) => log.append('s1', value, 0))),
      sendOpen: async (value) => {
        const entries = [log.append('s1', value, 0)];
        log.openTransaction(entries);
        return (isAborted) => changed(() => log.endTransaction(entries, isAborted));
      },
      sendUnreadable: () => changed(() => log.appendUnreadable(2, 'unpacks_too_large')),
      deleteBefore: (to) => changed(() => log.deleteBefore(to)),
      makeAnew: () => changed(() => log.makeAnew()),
    };
  };
  return { open, close: scheduler.runAlong() };
}

describe.each([
  ['Kafka', kafkaLogs],
  ['the log in memory', logsInMemory],
])('%s', (_name, start) => {
  let kind: Kind;
  beforeAll(async () => {
    kind = await start();
  });
  afterAll(() => kind?.close());

  /** Reads a log between two offsets, answer by answer. */
  const openLog = async () => {
    const log = await kind.open();
    const answers: Answer[] = [];
    const readUpTo = async (from: number, to: number, atEnd = false) => {
      answers.length = 0;
      for (let next = from; next < to;) {
        const answer = await log.read(next, { atEnd });
        if (answer === null || answer.isOutside) throw new Error(`${next} is not in the log`);
        answers.push(answer);
        ({ next } = answer);
      }
      return shownIn(answers);
    };
    return { ...log, answers, readUpTo };
  };

  it('delivers messages in order from the wanted offset, and again from another', async () => {
    const { bounds, send, readUpTo, answers } = await openLog();
    await send('a', 'b', 'c');
    expect(await bounds()).toEqual({ start: 0, end: 3 });
    expect(await readUpTo(1, 3)).toEqual(['1 b', '2 c']);
    expect(await readUpTo(0, 3)).toEqual(['0 a', '1 b', '2 c']);
    expect(answers.at(-1)).toMatchObject({ next: 3, end: 3 });
  });

  it.each([true, false])(
    'waits at its end for new messages (%s: as one that is at its end)',
    async (atEnd) => {
      const { send, read, readUpTo } = await openLog();
      await send('a');
      expect(await read(1, { atEnd, forMs: NOTHING_MS })).toBeNull();
      const coming = readUpTo(1, 2, atEnd);
      await send('b');
      expect(await coming).toEqual(['1 b']);
    },
  );

  it('continues after a truncated fetch', async () => {
    const { send, readUpTo, answers } = await openLog();
    await send(...times(20, () => LARGE));
    expect(await readUpTo(0, 20)).toEqual(times(20, (offset) => `${offset} ${LARGE}`));
    expect(answers.length).toBeGreaterThan(1);
    expect(answers[0]?.end).toBe(20);
  });

  it('hides an open transaction and all later messages', async () => {
    const { bounds, send, sendOpen, read, readUpTo, answers } = await openLog();
    await send('a');
    const commit = await sendOpen('t');
    await send('b');
    expect(await readUpTo(0, 1)).toEqual(['0 a']);
    expect(answers.at(-1)?.end).toBe(1);
    expect(await bounds()).toEqual({ start: 0, end: 1 });
    expect(await read(1, { forMs: NOTHING_MS })).toBeNull();
    await commit(false);
    expect(await readUpTo(0, 4)).toEqual(['0 a', '1 t', '2 b']);
  });

  it('continues behind offsets without messages at both ends of a fetch', async () => {
    const { send, sendOpen, readUpTo, answers } = await openLog();
    const abort = await sendOpen('x');
    await abort(true);
    expect(await readUpTo(0, 2)).toEqual([]);
    expect(answers.at(-1)?.next).toBe(2);
    await send('b');
    expect(await readUpTo(1, 3)).toEqual(['2 b']);
  });

  it('delivers an unreadable batch as one placeholder, even from its middle, and later messages', async () => {
    const { send, sendUnreadable, readUpTo } = await openLog();
    await send('a');
    await sendUnreadable();
    await send('b');
    expect(await readUpTo(0, 4)).toEqual(['0 a', '2 unpacks_too_large 1 to 2', '3 b']);
    expect(await readUpTo(2, 4)).toEqual(['2 unpacks_too_large 1 to 2', '3 b']);
  });

  it('says that an offset lies outside, before it after retention or behind it after a recreation', async () => {
    const { bounds, send, deleteBefore, makeAnew, read, readUpTo } = await openLog();
    await send('a', 'b', 'c');
    await deleteBefore(2);
    expect(await bounds()).toEqual({ start: 2, end: 3 });
    expect(await read(0)).toMatchObject({ isOutside: true });
    expect(await readUpTo(2, 3)).toEqual(['2 c']);
    await makeAnew();
    await send('x');
    expect(await read(3)).toMatchObject({ isOutside: true });
    expect(await readUpTo(0, 1)).toEqual(['0 x']);
    expect(await bounds()).toEqual({ start: 0, end: 1 });
  });
});

function shownIn(answers: readonly Answer[]): string[] {
  return answers.flatMap(({ messages }) =>
    messages.map(({ offset, value, unreadable }) =>
      unreadable === undefined
        ? `${offset} ${String(value)}`
        : `${offset} ${unreadable.reason} ${unreadable.from} to ${unreadable.to}`,
    ),
  );
}
