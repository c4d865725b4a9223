/**
 * An installation of its own for one test file, on the shared servers: environments, topics, databases and
 * keys that no other test has, removed at the end.
 */
import { randomBytes } from 'node:crypto';
import kafkajs, { type Kafka } from 'kafkajs';
import { Cluster, Redis } from 'ioredis';
import { type Db, MongoClient, MongoServerError } from 'mongodb';
import { type Config, readConfig } from '#shared/config.ts';
import { type EncodedMessage, encodeEvent, accessTopic, changesTopic } from '#shared/events/topics.ts';
import { PerKafka, createProducer, createTopics } from '#shared/kafka/client.ts';
import { Databases } from '#shared/read-models/generation.ts';
import { readRedisAddress } from '#shared/address.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import type { TestEvent } from './events.ts';
import { PATIENCE } from './patience.ts';
import { startRedisProcess } from './redis-process.ts';

export interface Installation extends AsyncDisposable {
  /** The environment variables of this installation, for processes of its own. */
  env: Record<string, string>;
  config: Config;
  /** The first environment. */
  environment: string;
  kafka: Kafka;
  /** The Kafka that has a topic. */
  kafkaOf: (topic: string) => Kafka;
  mongodb: MongoClient;
  databases: Databases;
  redis: Redis;
  /** Publishes events to the changes topic of an environment (the first by default), in order. */
  publish: (events: TestEvent[], environment?: string) => Promise<void>;
  /** Publishes events to the access topic. */
  publishAccess: (events: TestEvent[], environment?: string) => Promise<void>;
  /** Publishes messages as they are, good or bad. */
  send: (topic: string, messages: RawMessage[]) => Promise<void>;
  close: () => Promise<void>;
}

export interface RawMessage {
  key: string | Buffer | null;
  value: string | Buffer | null;
  headers?: Record<string, string | Buffer | (string | Buffer)[]>;
  /** Where it goes; what its key says when absent. */
  partition?: number;
  /** When it was made, as its publisher says, in milliseconds since 1970. */
  timestamp?: string;
}

export interface InstallationOptions {
  environments?: number;
  partitions?: number;
  /** Environment variables on top of those of the servers. */
  settings?: Record<string, string>;
  /** Those of the servers that an environment has of its own, without its name in front; in the order of the environments. */
  own?: Record<string, string>[];
  /** For what reads and writes Redis itself, as one server: where that of the tests is a cluster it gets a server of its own. */
  oneRedis?: true;
}

/** Makes an installation. */
export async function createInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const redisUrl = required('REDIS_URL');
  const ownRedis = options.oneRedis && isCluster(redisUrl) ? await startRedisProcess() : null;
  const tag = `t${randomBytes(4).toString('hex')}`;
  const environments = Array.from({ length: options.environments ?? 1 }, (_, index) => `${tag}-e${index}`);
  const env: Record<string, string> = {
    KAFKA_BROKERS: required('KAFKA_BROKERS'),
    MONGODB_URI: required('MONGODB_URI'),
    REDIS_URL: ownRedis?.url ?? redisUrl,
    ENVIRONMENTS: environments.join(','),
    NAME_PREFIX: tag,
    LOG_LEVEL: 'silent',
    QUERY_PORT: '0',
    OPERATIONS_PORT: '0',
    QUOTA_REQUESTS: '1000000',
    AUTH_FAILURES_PER_CLIENT_AND_ADDRESS: '1000000',
    AUTH_FAILURES_PER_ADDRESS: '1000000',
    AUTH_FAILURES_PER_CLIENT: '1000000',
    KAFKA_SESSION_TIMEOUT_MS: '3000',
    ...PATIENCE,
    SIGNING_KEYS: JSON.stringify({ keys: [await newSigningKey()] }),
    ...options.settings,
  };
  for (const [index, own] of options.own?.entries() ?? []) {
    const name = environments[index]?.toUpperCase().replaceAll('-', '_');
    for (const [setting, value] of Object.entries(own)) env[`${name}_${setting}`] = value;
  }
  const config = readConfig(env);
  const kafkas = new PerKafka(config, ({ kafka: { brokers } }) => {
    const client = new kafkajs.Kafka({
      clientId: tag,
      brokers,
      logLevel: kafkajs.logLevel.NOTHING,
      // On a busy machine the second that is usual is soon over.
      connectionTimeout: 10_000,
    });
    return { client, admin: client.admin(), producer: createProducer(client) };
  });
  const databases = Databases.of(config, (one) => new MongoClient(one.mongodb.uri));
  const redis = clientOf(config.redis.url);
  const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
  for (const [{ admin, producer }, ofKafka] of kafkas.group(topics)) {
    await admin.connect();
    await createTopics(admin, ofKafka, {
      partitions: options.partitions ?? 2,
      config: { 'max.message.bytes': String(10 * 1_048_576) },
    });
    await producer.connect();
  }

  const send = async (topic: string, messages: (RawMessage | EncodedMessage)[]) => {
    const { producer } = kafkas.of(topic);
    for (let start = 0; start < messages.length; start += 500) {
      const sent = await producer.send({ topic, messages: messages.slice(start, start + 500) });
      // kafkajs leaves out, without a word, what is for partitions that it does not know.
      if (sent.length === 0) throw new Error(`nothing was sent to ${topic}: no such partition is known`);
    }
  };
  const environment = environments[0] ?? tag;
  const encode = (events: TestEvent[]) => events.map((event) => encodeEvent({ source: '/test', ...event }));
  const close = async () => {
    for (const [{ admin, producer }, ofKafka] of kafkas.group(topics)) {
      await producer.disconnect();
      await admin.deleteTopics({ topics: ofKafka }).catch(() => undefined);
      await admin.disconnect();
    }
    const there = await databases.common.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of there.databases) {
      if (name.startsWith(`${tag}_`)) await dropDatabase(databases.common.db(name));
    }
    await databases.close();
    redis.disconnect();
    await ownRedis?.close();
  };
  return {
    env,
    config,
    environment,
    kafka: kafkas.common.client,
    kafkaOf: (topic) => kafkas.of(topic).client,
    mongodb: databases.common,
    databases,
    redis,
    send,
    publish: (events, name = environment) => send(changesTopic(name), encode(events)),
    publishAccess: (events, name = environment) => send(accessTopic(name), encode(events)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Drops a database, also where a killed process had begun to: MongoDB refuses a second drop until the first is done. */
async function dropDatabase(db: Db): Promise<void> {
  await eventually(`${db.databaseName} is dropped`, async () => {
    try {
      return await db.dropDatabase();
    } catch (error) {
      if (error instanceof MongoServerError && error.codeName === 'DatabaseDropPending') return false;
      throw error;
    }
  });
}

/** Waits until a check answers true; fails after `timeoutMs`, saying what was waited for. */
export async function eventually(
  what: string,
  check: () => Promise<boolean> | boolean,
  timeoutMs = 120_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function isCluster(url: string): boolean {
  return readRedisAddress(url)?.kind === 'cluster';
}

/** A client of the one server, or of a cluster; behind sentinels one of what the address names first, once it is used. */
function clientOf(url: string): Redis {
  const address = readRedisAddress(url);
  if (address === null) throw new Error(`no address of Redis: ${url}`);
  // What concerns one key is asked of both in the same way.
  if (isCluster(url)) return new Cluster([...address.nodes], { lazyConnect: true }) as never;
  return new Redis(address.urlOf(address.nodes[0]), { lazyConnect: address.kind !== 'server' });
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}
