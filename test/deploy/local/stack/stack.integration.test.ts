// The stack from every source that this machine has: it serves, reports a part that dies, keeps
// data on request, and leaves nothing behind.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import kafkajs from 'kafkajs';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findEngine } from '#local/stack/container.ts';
import { type Stack, startStack } from '#local/stack/stack.ts';
import { awaitGone, environmentWithoutAddresses } from '#test/local-processes.ts';
import { testableSources } from './sources.ts';
import { useFolder } from '#test/folder.ts';

// A test starts several servers on a machine that runs other tests.
vi.setConfig({ testTimeout: 180_000 });

const dataFolder = useFolder({ ofEachTest: true });

describe.each(await testableSources())('from source %s', (source) => {
  async function start(keepData = false): Promise<Stack> {
    const env = { ...environmentWithoutAddresses(), STACK_SOURCE: source };
    const stack = await startStack({ dataFolder, keepData, env, log: () => undefined });
    onTestFinished(() => stack.stop());
    return stack;
  }

  test('serves the services, restarts with kept data at the same addresses, and ends with a part that dies', async () => {
    const first = await start(true);
    expect(first.sources).toEqual([source, source, source]);
    await expect(start()).rejects.toThrow(`process ${process.pid} runs a stack in ${dataFolder}`);
    expect(await addOne(first)).toEqual({ kafka: 1, mongodb: 1, redis: 1 });
    // Frozen processes (SIGSTOP) do not block the shutdown.
    for (const pid of Object.values(first.pids).flat()) process.kill(pid, 'SIGSTOP');
    await first.stop();

    const second = await start(true);
    expect([second.mongodbUri, second.kafkaBrokers]).toEqual([
      first.mongodbUri,
      first.kafkaBrokers,
    ]);
    expect(await addOne(second)).toEqual({ kafka: 2, mongodb: 2, redis: 2 });
    await shutDownRedis(second);
    expect((await second.failed).message).toMatch(/^redis is gone: it ended/);
    await second.stop();
    await expectNothingLeft(second);
    // The logs stay for the reader.
    expect(existsSync(join(dataFolder, 'logs', 'redis.log'))).toBe(true);
  });

  test('begins anew without the data that another one kept, and leaves nothing behind', async () => {
    const kept = join(dataFolder, 'mongodb/data/kept');
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, 'of another one');
    const stack = await start();
    expect(await addOne(stack)).toEqual({ kafka: 1, mongodb: 1, redis: 1 });
    expect(existsSync(kept)).toBe(false);
    await stack.stop();
    await stack.stop();
    await expectNothingLeft(stack);
    expect(existsSync(dataFolder)).toBe(false);
  });

  async function expectNothingLeft({ pids }: Stack): Promise<void> {
    await awaitGone(Object.values(pids).flat());
    const engine = await findEngine().catch(() => null);
    if (engine === null) return;
    const filters = { label: [`store-data.stack=${dataFolder}`] };
    expect(await engine.container.dockerode.listContainers({ all: true, filters })).toEqual([]);
  }
});

test('a stack names an address that does not answer before it starts any server', async () => {
  const { KAFKA_BROKERS: _, ...rest } = process.env;
  const lines: string[] = [];
  const env = { ...rest, STACK_SOURCE: '', REDIS_URL: 'redis://127.0.0.1:1' };
  const starting = startStack({ dataFolder, env, log: (line) => lines.push(line) });
  await expect(starting).rejects.toThrow(
    'REDIS_URL is redis://127.0.0.1:1, and that does not work',
  );
  expect(lines.filter((line) => line.startsWith('kafka:'))).toEqual([]);
});

test('a stack says what to install, part by part, on a machine without any source', async () => {
  const STORE_DATA_CACHE = join(dataFolder, 'cache');
  const env = { PATH: '/nowhere', STACK_SOURCE: 'program', STORE_DATA_CACHE };
  const starting = startStack({ dataFolder, env, log: () => undefined });
  const error: unknown = await starting.catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'StackError' });
  for (const told of [
    'kafka: could not fetch Java',
    'mongodb: could not fetch mongod',
    'redis: could not fetch redis',
    'install python3',
  ])
    expect(String(error)).toContain(told);
});

/** Adds a message, a document in a transaction, and one to a number. @returns how many there are. */
async function addOne({ kafkaBrokers, mongodbUri, redisUrl }: Stack) {
  const topic = 'stack-test';
  const kafka = new kafkajs.Kafka({ brokers: kafkaBrokers, logLevel: kafkajs.logLevel.NOTHING });
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic }] });
  await producer.send({ topic, messages: [{ value: 'x' }] });
  const [offsets] = await admin.fetchTopicOffsets(topic);
  await Promise.all([admin.disconnect(), producer.disconnect()]);

  await using client = new MongoClient(mongodbUri);
  const documents = client.db('stack-test').collection('documents');
  await client.withSession((session) =>
    session.withTransaction(() => documents.insertOne({}, { session })),
  );

  const redis = new Redis(redisUrl);
  expect(await redis.config('GET', 'maxmemory-policy')).toContain('noeviction');
  const number = await redis.incr('stack-test');
  redis.disconnect();
  return { kafka: Number(offsets?.high), mongodb: await documents.countDocuments(), redis: number };
}

async function shutDownRedis({ redisUrl }: Stack): Promise<void> {
  const redis = new Redis(redisUrl, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  // SHUTDOWN has no answer: the connection closes.
  await redis.call('SHUTDOWN', 'NOSAVE').catch(() => undefined);
  redis.disconnect();
}
