/** The log in memory behaves like Kafka: the same cases for both, through the interface that the loop uses. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKafka, createTopics } from '#shared/kafka/client.ts';
import { isGap } from '#shared/kafka/message.ts';
import { readLogBounds } from '#shared/kafka/positions.ts';
import { createLogger } from '#shared/logging.ts';
import type { PartitionLog as LoopLog } from '#projector/log/edges.ts';
import type { FetchedBatch } from '#projector/log/continuity.ts';
import { createInstallation, eventually } from '#test/installation.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { encodeBatch } from '#test/record-batches.ts';
import { makeTopicAnew, withAdmin } from '#test/topics.ts';
import { Random } from '../../deploy/testing/random.ts';
import { PartitionLog } from './log.ts';
import { Fetching } from './projector.ts';
import { type Host, Scheduler } from './scheduler.ts';

/** Longer than any immediate fetch. */
const NOTHING_MS = 1_000;
const FETCH_BYTES = 4_096;
const TOO_LARGE = 80 * 1_048_576;
/** The size of a value, of which a fetch holds a few. */
const LARGE = 'x'.repeat(1_000);

interface Log {
  edge: LoopLog;
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
  /** Makes a log that passes its batches to a function. */
  open: (take: (batch: FetchedBatch) => Promise<void>) => Promise<Log>;
  close: () => Promise<void>;
}

async function kafkaLogs(): Promise<Kind> {
  const { config, kafka: tools, send, close } = await createInstallation({ partitions: 1 });
  const kafka = createKafka(config, 'test', createLogger('test', 'silent'));
  const ends: (() => Promise<void>)[] = [close];
  const open: Kind['open'] = async (take) => {
    const topic = `${config.namePrefix}-${randomUUID()}`;
    await withAdmin(tools, (admin) => createTopics(admin, [topic], { partitions: 1 }));
    const consumer = kafka.consumer({
      groupId: topic,
      maxWaitTimeInMs: 100,
      maxBytesPerPartition: FETCH_BYTES,
      allowAutoTopicCreation: false,
      retry: { retries: 20, initialRetryTime: 100, maxRetryTime: 1_000 },
    });
    const joined = Promise.withResolvers<void>();
    let [offset, isPaused] = [0, true];
    const selection = [{ topic, partitions: [0] }];
    const edge: LoopLog = {
      bounds: async () => {
        const bounds = await withAdmin(tools, (admin) => readLogBounds(admin, topic));
        return bounds.get(0) ?? { start: 0, end: 0 };
      },
      seek: (to) => {
        offset = to;
        consumer.seek({ topic, partition: 0, offset: String(to) });
      },
      pause: () => {
        isPaused = true;
        consumer.pause(selection);
      },
      resume: () => {
        isPaused = false;
        consumer.resume(selection);
      },
    };
    consumer.on(consumer.events.GROUP_JOIN, () => {
      edge.seek(offset);
      if (isPaused) edge.pause();
      joined.resolve();
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, isStale }) => {
        if (!isStale()) await take(batch);
      },
    });
    await joined.promise;
    ends.unshift(async () => {
      await consumer.disconnect();
      await withAdmin(tools, (admin) => admin.deleteTopics({ topics: [topic] }));
    });
    return {
      edge,
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
          await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(to) }] });
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
  const closed = new AbortController();
  const run = async () => {
    while (!closed.signal.aborted) if (!(await scheduler.step(Infinity))) await sleep(1);
  };
  const running = run();
  const open: Kind['open'] = async (take) => {
    const log = new PartitionLog(random);
    const edge = new Fetching({ scheduler, random }, host, log, 0);
    edge.loop = { take };
    const changed = async (change: () => void) => {
      change();
      edge.wake();
    };
    return {
      edge,
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
  return {
    open,
    close: async () => {
      closed.abort();
      await running;
    },
  };
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

  /** Reads a log between two offsets, batch by batch. */
  const openLog = async () => {
    const batches: FetchedBatch[] = [];
    let follows = true;
    const log = await kind.open(async (batch) => {
      batches.push(batch);
      // The seek of the loop; nothing else advances.
      if (follows) log.edge.seek(Number(batch.lastOffset()) + 1);
    });
    const stay = () => {
      follows = false;
    };
    const begin = (from: number) => {
      batches.length = 0;
      log.edge.seek(from);
      log.edge.resume();
    };
    const end = () => Number(batches.at(-1)?.lastOffset() ?? -1) + 1;
    const until = async (to: number) => {
      await eventually(`${to} is shown`, () => end() >= to);
      log.edge.pause();
      return shownIn(batches);
    };
    const read = (from: number, to: number) => {
      begin(from);
      return until(to);
    };
    return { ...log, batches, stay, begin, until, read };
  };

  it('delivers messages in order from the sought offset, and again after another seek', async () => {
    const { edge, send, read, batches } = await openLog();
    await send('a', 'b', 'c');
    expect(await edge.bounds()).toEqual({ start: 0, end: 3 });
    expect(await read(1, 3)).toEqual(['1 b', '2 c']);
    expect(await read(0, 3)).toEqual(['0 a', '1 b', '2 c']);
    expect(batches[0]?.firstOffset()).toBe('0');
  });

  it('waits at its end for new messages, and delivers nothing while paused', async () => {
    const { edge, send, begin, until, batches } = await openLog();
    await send('a');
    begin(1);
    await send('b');
    expect(await until(2)).toEqual(['1 b']);
    expect(batches.at(-1)?.highWatermark).toBe('2');
    await send('c');
    await sleep(NOTHING_MS);
    expect(batches).toHaveLength(1);
    edge.resume();
    expect(await until(3)).toEqual(['1 b', '2 c']);
  });

  it('repeats the same batch without a seek', async () => {
    const { edge, send, stay, begin, batches } = await openLog();
    await send('a');
    stay();
    begin(0);
    await eventually('it was shown three times', () => batches.length >= 3);
    edge.pause();
    expect(new Set(shownIn(batches))).toEqual(new Set(['0 a']));
  });

  it('continues after a truncated fetch', async () => {
    const { send, read, batches } = await openLog();
    await send(...Array.from({ length: 20 }, () => LARGE));
    expect(await read(0, 20)).toEqual(Array.from({ length: 20 }, (_, offset) => `${offset} ${LARGE}`));
    expect(batches.length).toBeGreaterThan(1);
    expect(batches[0]?.highWatermark).toBe('20');
  });

  it('hides an open transaction and all later messages', async () => {
    const { edge, send, sendOpen, begin, until, batches } = await openLog();
    await send('a');
    const commit = await sendOpen('t');
    await send('b');
    begin(0);
    expect(await until(1)).toEqual(['0 a']);
    expect(batches.at(-1)?.highWatermark).toBe('1');
    expect(await edge.bounds()).toEqual({ start: 0, end: 1 });
    edge.resume();
    await sleep(NOTHING_MS);
    expect(shownIn(batches)).toEqual(['0 a']);
    await commit(false);
    expect(await until(4)).toEqual(['0 a', '1 t', '2 b']);
  });

  it('has placeholders for offsets without messages at both ends of a fetch', async () => {
    const { send, sendOpen, read, batches } = await openLog();
    const abort = await sendOpen('x');
    await abort(true);
    expect(await read(0, 2)).toEqual([]);
    await send('b');
    expect(await read(1, 3)).toEqual(['2 b']);
    expect(batches.flatMap(({ messages }) => messages.map(isGap))).toEqual([true, false]);
  });

  it('delivers an unreadable batch as one placeholder, even from its middle, and later messages', async () => {
    const { send, sendUnreadable, read } = await openLog();
    await send('a');
    await sendUnreadable();
    await send('b');
    expect(await read(0, 4)).toEqual(['0 a', '2 unpacks_too_large 1 to 2', '3 b']);
    expect(await read(2, 4)).toEqual(['2 unpacks_too_large 1 to 2', '3 b']);
  });

  it('delivers from its beginning if retention deleted the sought offset', async () => {
    const { edge, send, deleteBefore, read } = await openLog();
    await send('a', 'b', 'c');
    await deleteBefore(2);
    expect(await edge.bounds()).toEqual({ start: 2, end: 3 });
    expect(await read(0, 3)).toEqual(['2 c']);
  });

  it('begins again if the sought offset is beyond its end, as in a recreated topic', async () => {
    const { edge, send, makeAnew, read, begin, until } = await openLog();
    await send('a', 'b', 'c');
    expect(await read(0, 3)).toEqual(['0 a', '1 b', '2 c']);
    await makeAnew();
    begin(3);
    await send('x', 'y');
    expect(await until(2)).toEqual(['0 x', '1 y']);
    expect(await edge.bounds()).toEqual({ start: 0, end: 2 });
  });
});

function shownIn(batches: readonly FetchedBatch[]): string[] {
  const messages = batches.flatMap((batch) => batch.messages).filter((message) => !isGap(message));
  return messages.map((message) => {
    const unreadable = message.unreadable;
    if (unreadable === undefined) return `${message.offset} ${String(message.value)}`;
    return `${message.offset} ${unreadable.reason} ${unreadable.from} to ${unreadable.to}`;
  });
}
