// The stack from every source that this machine has: it serves, reports a part that dies, keeps
// data on request, and leaves nothing behind.
import { existsSync } from 'node:fs';
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

  test('serves the services, reports the part that died, and stops the others', async () => {
    const stack = await start();
    expect(stack.sources).toEqual([source, source, source]);
    const other = startStack({
      dataFolder,
      env: environmentWithoutAddresses(),
      log: () => undefined,
    });
    await expect(other).rejects.toThrow(`process ${process.pid} runs a stack in ${dataFolder}`);
    await Promise.all([
      checkKafka(stack),
      expect(transact(stack)).resolves.toBe(1),
      expect(setAndGet(stack)).resolves.toEqual(['value', 'noeviction']),
    ]);

    const [redis] = stack.pids.redis;
    if (redis === undefined) await shutDownRedis(stack);
    else process.kill(redis, 'SIGKILL');
    const failure = await stack.failed;
    expect(failure.message).toMatch(
      redis === undefined ? /^redis is gone: it ended/ : /^redis is gone: it was killed by SIGKILL/,
    );
    expect(failure.message).toContain('Ready to accept connections');
    await stack.stop();
    await expectNothingLeft(stack);
    // The logs stay for the reader.
    expect(existsSync(join(dataFolder, 'logs', 'redis.log'))).toBe(true);
    expect(existsSync(join(dataFolder, 'mongodb'))).toBe(false);
  });

  test('restarts with kept data at the same addresses, and removes data that is not to be kept', async () => {
    const first = await start(true);
    await Promise.all([sendOne(first), transact(first), setAndGet(first)]);
    await first.stop();
    const second = await start(true);
    expect([second.mongodbUri, second.kafkaBrokers]).toEqual([
      first.mongodbUri,
      first.kafkaBrokers,
    ]);
    await expect(countMessages(second)).resolves.toBe('1');
    await expect(transact(second)).resolves.toBe(2);
    await expect(getOnly(second)).resolves.toBe('value');
    // Frozen processes (SIGSTOP) do not block the shutdown.
    for (const pid of Object.values(second.pids).flat()) process.kill(pid, 'SIGSTOP');
    await second.stop();
    await expectNothingLeft(second);
    const third = await start();
    await expect(transact(third)).resolves.toBe(1);
    await third.stop();
    await third.stop();
    await expectNothingLeft(third);
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
  const env = { ...rest, STACK_SOURCE: '', MONGODB_URI: 'mongodb://127.0.0.1:1' };
  const starting = startStack({ dataFolder, env, log: (line) => lines.push(line) });
  await expect(starting).rejects.toThrow(
    /MONGODB_URI is mongodb:\/\/127\.0\.0\.1:1, and that does not work/,
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

async function checkKafka(stack: Stack): Promise<void> {
  const large = Buffer.alloc(8 * 1024 * 1024, 'x');
  await sendOne(stack, large);
  const consumer = connectKafka(stack).consumer({
    groupId: 'stack-test',
    sessionTimeout: 1_000,
    heartbeatInterval: 300,
  });
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  const received = await new Promise<number | undefined>((resolve, reject) => {
    const eachMessage = ({ message }: kafkajs.EachMessagePayload) =>
      Promise.resolve(resolve(message.value?.length));
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  expect(received).toBe(large.length);
  const producer = connectKafka(stack).producer({ retry: { retries: 0 } });
  await producer.connect();
  await expect(
    producer.send({ topic: 'not-created', messages: [{ value: 'x' }] }),
  ).rejects.toThrow();
  await producer.disconnect();
}

async function sendOne(stack: Stack, value: Buffer = Buffer.from('x')): Promise<void> {
  const kafka = connectKafka(stack);
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await admin.createTopics({ topics: [{ topic: TOPIC }] });
  await producer.send({ topic: TOPIC, messages: [{ value }] });
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
