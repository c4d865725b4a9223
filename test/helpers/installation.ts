/**
 * An installation for one test file on the shared servers: its own environments, topics, databases
 * and keys, removed at the end.
 */
import { randomBytes } from 'node:crypto';
import kafkajs, { type Kafka } from 'kafkajs';
import type { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { type Config, readConfig } from '#shared/config.ts';
import {
  type EncodedMessage,
  encodeEvent,
  accessTopic,
  changesTopic,
} from '#shared/events/topics.ts';
import { createProducer, createTopics } from '#shared/kafka/client.ts';
import { Databases } from '#shared/read-models/generation.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import type { TestEvent } from './events.ts';
import { PATIENCE } from './patience.ts';
import { startRedisProcess } from './redis-process.ts';
import { clientOf, dropDatabase, isCluster, required } from './shared-servers.ts';
import { times } from './times.ts';

export interface Installation extends AsyncDisposable {
  /** The environment variables for processes of this installation. */
  env: Record<string, string>;
  config: Config;
  /** The name of the first environment. */
  environment: string;
  kafka: Kafka;
  mongodb: MongoClient;
  databases: Databases;
  redis: Redis;
  /** Publishes events in order to the changes topic of an environment, by default the first. */
  publish: (events: TestEvent[], environment?: string) => Promise<void>;
  publishAccess: (events: TestEvent[], environment?: string) => Promise<void>;
  /** Sends raw messages, valid or not. */
  send: (topic: string, messages: RawMessage[]) => Promise<void>;
  close: () => Promise<void>;
}

export interface RawMessage {
  key: string | Buffer | null;
  value: string | Buffer | null;
  headers?: Record<string, string | Buffer | (string | Buffer)[]>;
  /** By default the key decides. */
  partition?: number;
  /** The producer's time in milliseconds since 1970. */
  timestamp?: string;
}

export interface InstallationOptions {
  environments?: number;
  partitions?: number;
  /** Additional environment variables. */
  settings?: Record<string, string>;
  /** For tests that use Redis directly: starts a single server if the shared one is a cluster. */
  oneRedis?: true;
}

export async function createInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const redisUrl = required('REDIS_URL');
  const ownRedis = options.oneRedis && isCluster(redisUrl) ? await startRedisProcess() : null;
  const tag = `t${randomBytes(4).toString('hex')}`;
  const environments = times(options.environments ?? 1, (index) => `${tag}-e${index}`);
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
  const config = readConfig(env);
  const kafka = new kafkajs.Kafka({
    clientId: tag,
    brokers: config.kafka.brokers,
    logLevel: kafkajs.logLevel.NOTHING,
    // The default of one second is too short on a busy machine.
    connectionTimeout: 10_000,
  });
  const [admin, producer] = [kafka.admin(), createProducer(kafka)];
  const mongodb = new MongoClient(config.mongodb.uri);
  const redis = clientOf(config.redis.url);
  const topics = environments.flatMap((name) => [changesTopic(name), accessTopic(name)]);
  await admin.connect();
  await createTopics(admin, topics, {
    partitions: options.partitions ?? 2,
    config: { 'max.message.bytes': String(10 * 1_048_576) },
  });
  await producer.connect();

  const send = async (topic: string, messages: (RawMessage | EncodedMessage)[]) => {
    for (let start = 0; start < messages.length; start += 500) {
      const sent = await producer.send({ topic, messages: messages.slice(start, start + 500) });
      // kafkajs silently drops messages for unknown partitions.
      if (sent.length === 0)
        throw new Error(`nothing was sent to ${topic}: no such partition is known`);
    }
  };
  const environment = environments[0] ?? tag;
  const encode = (events: TestEvent[]) =>
    events.map((event) => encodeEvent({ source: '/test', ...event }));
  const close = async () => {
    await producer.disconnect();
    await admin.deleteTopics({ topics }).catch(() => undefined);
    await admin.disconnect();
    const there = await mongodb.db().admin().listDatabases({ nameOnly: true });
    for (const { name } of there.databases) {
      if (name.startsWith(`${tag}_`)) await dropDatabase(mongodb.db(name));
    }
    await mongodb.close();
    redis.disconnect();
    await ownRedis?.close();
  };
  return {
    env,
    config,
    environment,
    kafka,
    mongodb,
    databases: new Databases(tag, mongodb),
    redis,
    send,
    publish: (events, name = environment) => send(changesTopic(name), encode(events)),
    publishAccess: (events, name = environment) => send(accessTopic(name), encode(events)),
    close,
    [Symbol.asyncDispose]: close,
  };
}
