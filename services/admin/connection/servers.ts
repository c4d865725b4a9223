/** The servers of one command: each is connected when it is first needed, within seconds or not at all. */
import type { Admin, Consumer, ConsumerConfig, Kafka, Producer } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import { shownAddress, withoutCredentials } from '#shared/address.ts';
import type { Config } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createKafka, createProducer } from '#shared/kafka.ts';
import { createLogger } from '#shared/logging.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import { createRedis } from '#shared/redis.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import { probeBrokers } from './probe.ts';
import { type Connection, readConnection } from './settings.ts';

const CONNECT_MS = 5_000;
const CLOSE_MS = 2_000;

export class Servers {
  readonly config: Config;
  readonly #origin: string;
  readonly #kafka: Kafka;
  readonly #closing: (() => Promise<unknown>)[] = [];
  #mongodb: Promise<MongoClient> | null = null;
  #redis: Promise<RedisMasters> | null = null;
  #admin: Promise<Admin> | null = null;
  #producer: Promise<Producer> | null = null;

  constructor({ config, origin }: Connection) {
    this.config = config;
    this.#origin = origin;
    this.#kafka = createKafka(config, `${config.namePrefix}.admin`, createLogger('admin', 'silent'));
  }

  /** A client that has reached its server; the same for @throws everywhere below. */
  mongodb(): Promise<MongoClient> {
    this.#mongodb ??= this.#connect('MongoDB', shownAddress(this.config.mongodb.uri), async () => {
      const client = createWriterClient(this.config, 'admin');
      this.#closing.push(() => client.close());
      await client.db('admin').command({ ping: 1 });
      return client;
    });
    return this.#mongodb;
  }

  /** The database with keys, revocations and the dead letters of access. */
  async control(): Promise<Db> {
    return controlDatabase(await this.mongodb(), this.config.namePrefix);
  }

  redis(): Promise<RedisMasters> {
    this.#redis ??= this.#connect('Redis', shownAddress(this.config.redis.url), async () => {
      let last: Error | undefined;
      const redis = createRedis(this.config, {
        away: (error) => {
          last = error;
        },
      });
      this.#closing.push(async () => redis.disconnect());
      await redis.ready(CONNECT_MS - 500).catch((error: unknown) => {
        throw last ?? error;
      });
      return redis;
    });
    return this.#redis;
  }

  kafkaAdmin(): Promise<Admin> {
    this.#admin ??= this.#connectKafka(async () => {
      const admin = this.#kafka.admin({ retry: { retries: 4 } });
      this.#closing.push(() => admin.disconnect());
      await admin.connect();
      // The connection alone says nothing about a broker that is frozen.
      await admin.describeCluster();
      return admin;
    });
    return this.#admin;
  }

  producer(): Promise<Producer> {
    this.#producer ??= this.#connectKafka(async () => {
      const producer = createProducer(this.#kafka);
      this.#closing.push(() => producer.disconnect());
      await producer.connect();
      return producer;
    });
    return this.#producer;
  }

  /** A consumer that has connected and not joined its group yet. */
  consumer(groupId: string, options: Omit<ConsumerConfig, 'groupId'>): Promise<Consumer> {
    return this.#connectKafka(async () => {
      const consumer = this.#kafka.consumer({
        groupId,
        allowAutoTopicCreation: false,
        sessionTimeout: 60_000,
        maxWaitTimeInMs: 100,
        readUncommitted: false,
        ...options,
      });
      this.#closing.push(() => consumer.disconnect());
      await consumer.connect();
      return consumer;
    });
  }

  /** Lets go of everything; what does not answer is left behind. */
  async close(): Promise<void> {
    await Promise.all(
      this.#closing
        .splice(0)
        .map((close) => withTimeLimit(CLOSE_MS, () => new Error('not closed'), close).catch(() => undefined)),
    );
  }

  #connectKafka<T>(connect: () => Promise<T>): Promise<T> {
    const { brokers } = this.config.kafka;
    return this.#connect('Kafka', shownAddress(brokers.join(',')), async () => {
      await probeBrokers(brokers);
      return connect();
    });
  }

  /** @throws {StoreDataError} `environment_unavailable`, naming the server, its address and where that came from. */
  async #connect<T>(name: string, address: string, connect: () => Promise<T>): Promise<T> {
    const unavailable = (why: string, cause?: unknown) =>
      new StoreDataError(
        'environment_unavailable',
        `${name} cannot be reached at ${address} (from ${this.#origin}): ${why}`,
        { cause },
      );
    try {
      const late = () => unavailable(`no answer within ${CONNECT_MS / 1_000} s`);
      return await withTimeLimit(CONNECT_MS, late, connect);
    } catch (error) {
      if (error instanceof StoreDataError) throw error;
      throw unavailable(reasonOf(error), error);
    }
  }
}

/** Runs a command's work with its servers, and closes them however it ends. */
export async function withServers<T>(work: (servers: Servers) => Promise<T>): Promise<T> {
  const servers = new Servers(await readConnection(process.env));
  try {
    return await work(servers);
  } finally {
    await servers.close();
  }
}

/** The innermost cause says it best: libraries wrap it in what they tried. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return describeError(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : withoutCredentials(error.message);
}
