// The stack from every source that this machine has: it serves, reports a part that dies, keeps
// data on request, and leaves nothing behind.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
    await Promise.all([
      sendOne(first),
      expect(transact(first)).resolves.toBe(1),
      expect(setAndGet(first)).resolves.toEqual(['value', 'noeviction']),
    ]);
    // Frozen processes (SIGSTOP) do not block the shutdown.
    for (const pid of Object.values(first.pids).flat()) process.kill(pid, 'SIGSTOP');
    await first.stop();

    const second = await start(true);
    expect([second.mongodbUri, second.kafkaBrokers]).toEqual([
      first.mongodbUri,
      first.kafkaBrokers,
    ]);
    await expect(countMessages(second)).resolves.toBe('1');
    await expect(transact(second)).resolves.toBe(2);
    await expect(getOnly(second)).resolves.toBe('value');
    const [redis] = second.pids.redis;
    if (redis === undefined) await shutDownRedis(second);
    else process.kill(redis, 'SIGKILL');
    const failure = await second.failed;
    expect(failure.message).toMatch(
      redis === undefined ? /^redis is gone: it ended/ : /^redis is gone: it was killed by SIGKILL/,
    );
    await second.stop();
    await expectNothingLeft(second);
    // The logs stay for the reader.
    expect(existsSync(join(dataFolder, 'logs', 'redis.log'))).toBe(true);
  });

  test('begins anew without the data that another one kept, and leaves nothing behind', async () => {
    mkdirSync(join(dataFolder, 'mongodb', 'data'), { recursive: true });
    writeFileSync(join(dataFolder, 'mongodb', 'data', 'kept'), 'of another one');
    const stack = await start();
    await expect(transact(stack)).resolves.toBe(1);
    expect(existsSync(join(dataFolder, 'mongodb', 'data', 'kept'))).toBe(false);
    await stack.stop();
    await stack.stop();
    await expectNothingLeft(stack);
    expect(existsSync(dataFolder)).toBe(false);
  });

  async function expectNothingLeft({ pids }: Stack): Promise<void> {
    await awaitGone(Object.values(pids).flat());
    const answer = await findEngine();
    if ('absent' in answer) return;
    const filters = { label: [`store-data.stack=${dataFolder}`] };
    expect(await answer.engine.container.dockerode.listContainers({ all: true, filters })).toEqual(
      [],
    );
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

test('a stack uses given addresses that answer', async () => {
  const { KAFKA_BROKERS, MONGODB_URI, REDIS_URL } = process.env;
  const env = { ...process.env, STACK_SOURCE: '' };
  const stack = await startStack({ dataFolder, env, log: () => undefined });
  expect(stack.sources).toEqual(['address', 'address', 'address']);
  expect(stack).toMatchObject({
    kafkaBrokers: KAFKA_BROKERS?.split(','),
    mongodbUri: MONGODB_URI,
    redisUrl: REDIS_URL,
  });
  await stack.stop();
  await using client = new MongoClient(stack.mongodbUri);
  await expect(client.db().admin().ping()).resolves.toEqual(expect.objectContaining({ ok: 1 }));
});

test('a stack says what to install, part by part, on a machine without any source', async () => {
  const env = {
    PATH: '/nowhere',
    STACK_SOURCE: 'program',
    STORE_DATA_CACHE: join(dataFolder, 'cache'),
  };
  const error: unknown = await startStack({ dataFolder, env, log: () => undefined }).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ name: 'StackError' });
  for (const part of [
    'kafka: could not fetch Java',
    'mongodb: could not fetch mongod',
    'redis: could not fetch redis',
  ]) {
    expect(String(error)).toContain(part);
  }
  expect(String(error)).toContain('install python3');
});

const TOPIC = 'stack-test';

function connectKafka({ kafkaBrokers }: Stack): kafkajs.Kafka {
  return new kafkajs.Kafka({ brokers: kafkaBrokers, logLevel: kafkajs.logLevel.NOTHING });
}

async function sendOne(stack: Stack): Promise<void> {
  const kafka = connectKafka(stack);
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic: TOPIC }] });
  await producer.send({ topic: TOPIC, messages: [{ value: 'x' }] });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
}

async function countMessages(stack: Stack): Promise<string | undefined> {
  const admin = connectKafka(stack).admin();
  await admin.connect();
  const [offsets] = await admin.fetchTopicOffsets(TOPIC);
  await admin.disconnect();
  return offsets?.high;
}

/** Inserts a document in a transaction. @returns the number of documents. */
async function transact({ mongodbUri }: Stack): Promise<number> {
  await using client = new MongoClient(mongodbUri);
  const documents = client.db('stack-test').collection('documents');
  await client.withSession((session) =>
    session.withTransaction(() => documents.insertOne({}, { session })),
  );
  // Awaited here, because the client closes when the function returns.
  const count = await documents.countDocuments();
  return count;
}

async function setAndGet({ redisUrl }: Stack): Promise<unknown[]> {
  const redis = new Redis(redisUrl);
  await redis.set('stack-test', 'value');
  const [, policy] = await redis.config('GET', 'maxmemory-policy');
  const value = await redis.get('stack-test');
  redis.disconnect();
  return [value, policy];
}

async function getOnly({ redisUrl }: Stack): Promise<string | null> {
  const redis = new Redis(redisUrl);
  const value = await redis.get('stack-test');
  redis.disconnect();
  return value;
}

async function shutDownRedis({ redisUrl }: Stack): Promise<void> {
  const redis = new Redis(redisUrl, { retryStrategy: () => null });
  redis.on('error', () => undefined);
  // SHUTDOWN has no answer: the connection closes.
  await redis.call('SHUTDOWN', 'NOSAVE').catch(() => undefined);
  redis.disconnect();
}
