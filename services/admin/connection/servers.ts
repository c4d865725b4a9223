/** The servers of one command: each is connected when it is first needed, within seconds or not at all. */
import type { Db, MongoClient } from 'mongodb';
import { shownAddress, withoutCredentials } from '#shared/address.ts';
import type { Config } from '#shared/config.ts';
import { describeError, refusalOf, StoreDataError } from '#shared/errors.ts';
import {
  PerKafka,
  type Admin,
  type Consumer,
  type ConsumerConfig,
  type Kafka,
  type Producer,
  createKafka,
  createProducer,
} from '#shared/kafka/client.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { Databases } from '#shared/read-models/databases.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import { createRedis } from '#shared/redis.ts';
import { withTimeLimit } from '#shared/waiting.ts';
import { chooseEnvironment } from '../options.ts';
import { type Connection, demandAddress, readConnection } from './settings.ts';
import { firstToAnswer, kafkaSecurity } from '#shared/kafka/connection.ts';
import { createLogger } from '#shared/logging.ts';

const CONNECT_MS = 5_000;
const CLOSE_MS = 2_000;

export class Servers {
  readonly config: Config;
  readonly kafkas: PerKafka<KafkaServers>;
  readonly #origin: string;
  readonly #closing: (() => Promise<unknown>)[] = [];
  /** By client: its address, and whether it has reached that. */
  readonly #mongodb = new Map<MongoClient, { address: string; reached: Promise<unknown> | null }>();
  #made: Databases | null = null;
  #redis: Promise<RedisMasters> | null = null;

  constructor({ config, origin }: Connection) {
    this.config = config;
    this.#origin = origin;
    this.kafkas = new PerKafka(
      config,
      (one) => new KafkaServers(one, `${config.namePrefix}.admin`, this.#connect),
    );
  }

  /** The databases, once MongoDB is reached, and that of an environment; the same for @throws everywhere below. */
  async databases(environment: string): Promise<Databases> {
    const databases = this.#databases();
    await this.#reach(databases.control.client);
    await this.#reach(databases.clientOf(environment));
    return databases;
  }

  /** The database with keys, revocations and the dead letters of access. */
  async control(): Promise<Db> {
    const { control } = this.#databases();
    await this.#reach(control.client);
    return control;
  }

  /** The Kafka that has a topic. */
  kafkaOf(topic: string): KafkaServers {
    return this.kafkas.of(topic);
  }

  /** For changes that need all three: nothing is begun that cannot be finished. @throws {StoreDataError} `config_invalid` */
  demandAll(): void {
    demandAddress('KAFKA_BROKERS', this.config.kafka.brokers);
    demandAddress('MONGODB_URI', this.config.mongodb.uri);
    demandAddress('REDIS_URL', this.config.redis.url);
  }

  async redis(): Promise<RedisMasters> {
    demandAddress('REDIS_URL', this.config.redis.url);
    this.#redis ??= this.#connect('Redis', shownAddress(this.config.redis.url), async (closing) => {
      let last: Error | undefined;
      const redis = createRedis(this.config, {
        away: (error) => {
          last = error;
        },
      });
      closing.push(async () => redis.disconnect());
      await redis.ready(CONNECT_MS - 500).catch((error: unknown) => {
        throw last ?? error;
      });
      return redis;
    });
    return this.#redis;
  }

  /** Closes all connections; does not wait for servers that do not answer. */
  async close(): Promise<void> {
    await Promise.all(
      this.#closing
        .splice(0)
        .map((close) => withTimeLimit(CLOSE_MS, () => new Error('not closed'), close).catch(() => undefined)),
    );
  }

  #databases(): Databases {
    if (this.#made !== null) return this.#made;
    demandAddress('MONGODB_URI', this.config.mongodb.uri);
    const made = Databases.of(this.config, (one) => {
      const client = createWriterClient(one, 'admin');
      this.#mongodb.set(client, { address: shownAddress(one.mongodb.uri), reached: null });
      return client;
    });
    this.#closing.push(() => made.close());
    return (this.#made = made);
  }

  async #reach(client: MongoClient): Promise<void> {
    const one = this.#mongodb.get(client);
    if (one === undefined) return;
    one.reached ??= this.#connect('MongoDB', one.address, () => client.db('admin').command({ ping: 1 }));
    await one.reached;
  }

  /** @throws {StoreDataError} `environment_unavailable` or `not_authorized`, naming the server and its address. */
  readonly #connect: Reach = async (name, address, connect) => {
    const unavailable = (why: string, cause?: unknown) =>
      new StoreDataError(
        'environment_unavailable',
        `${name} cannot be reached at ${address} (from ${this.#origin}): ${why}`,
        { cause },
      );
    try {
      const late = () => unavailable(`no answer within ${CONNECT_MS / 1_000} s`);
      return await withTimeLimit(CONNECT_MS, late, () => connect(this.#closing));
    } catch (error) {
      if (error instanceof StoreDataError) throw error;
      const refusal = refusalOf(error);
      if (refusal !== null)
        throw new StoreDataError('not_authorized', `${refusal}, at ${address}`, { cause: error });
      throw unavailable(reasonOf(error), error);
    }
  };
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

/** The same for a command that works in one environment: the one that is given, or the only one that there is. */
export function inEnvironment<T>(
  flags: { environment?: string | undefined },
  work: (servers: Servers, environment: string) => Promise<T>,
): Promise<T> {
  return withServers((servers) => work(servers, chooseEnvironment(servers.config, flags.environment)));
}

/** The innermost cause says it best: libraries wrap it in what they tried. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return describeError(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : withoutCredentials(error.message);
}

/** Connects to a server; what is put into `closing` is done in the end. */
export type Reach = <T>(
  name: string,
  address: string,
  connect: (closing: (() => Promise<unknown>)[]) => Promise<T>,
) => Promise<T>;

/** One Kafka of a command. */
export class KafkaServers {
  readonly #config: Config['kafka'];
  readonly #kafka: Kafka;
  readonly #reach: Reach;
  #admin: Promise<Admin> | null = null;
  #producer: Promise<Producer> | null = null;

  constructor(config: Pick<Config, 'kafka'>, clientId: string, reach: Reach) {
    this.#config = config.kafka;
    this.#kafka = createKafka(config, clientId, createLogger('admin', 'silent'));
    this.#reach = reach;
  }

  /** A client that has reached its server; the same for @throws everywhere below. */
  admin(): Promise<Admin> {
    return (this.#admin ??= this.#connect(() => this.#kafka.admin({ retry: { retries: 4 } })));
  }

  producer(): Promise<Producer> {
    return (this.#producer ??= this.#connect(() => createProducer(this.#kafka)));
  }

  /** A consumer that has connected and not joined its group yet. */
  consumer(groupId: string, options: Omit<ConsumerConfig, 'groupId'>): Promise<Consumer> {
    const usual = {
      allowAutoTopicCreation: false,
      sessionTimeout: 60_000,
      maxWaitTimeInMs: 100,
      readUncommitted: false,
    };
    return this.#connect(() => this.#kafka.consumer({ groupId, ...usual, ...options }));
  }

  async #connect<C extends Pick<Admin, 'connect' | 'disconnect'>>(create: () => C): Promise<C> {
    const { brokers } = this.#config;
    demandAddress('KAFKA_BROKERS', brokers);
    return this.#reach('Kafka', shownAddress(brokers.join(',')), async (closing) => {
      // kafkajs would try for seconds, and hide why.
      await firstToAnswer(brokers, kafkaSecurity(this.#config).ssl);
      const client = create();
      closing.push(() => client.disconnect());
      await client.connect();
      return client;
    });
  }
}
