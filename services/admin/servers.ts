/**
 * The servers of one command: found in the environment or a stack's file, each connected at its
 * first use within seconds.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type AccessRecord, controlCollections } from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { shownAddress, withoutCredentials } from '#shared/address.ts';
import { type Config, readConfig } from '#shared/config.ts';
import { describeError, hasCode, refusalOf, StoreDataError, unavailable } from '#shared/errors.ts';
import { type Admin, createKafka, createProducer, type Kafka } from '#shared/kafka/client.ts';
import { firstToAnswer, kafkaSecurity } from '#shared/kafka/connection.ts';
import { createCluster, readBounds, readLogBounds } from '#shared/kafka/cluster.ts';
import { createLogReader } from '#shared/kafka/log-reader.ts';
import type { LogBounds } from '#shared/kafka/positions.ts';
import { createLogger } from '#shared/logging.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { Databases, findGenerations, findLiveGeneration } from '#shared/read-models/generation.ts';
import { topicsOf } from '#shared/events/topics.ts';
import { createRedis } from '#shared/redis.ts';
import { lazy, withTimeLimit } from '#shared/waiting.ts';
import { WrongUsage } from './options.ts';

const CONNECT_MS = 5_000;
const CLOSE_MS = 2_000;

export type Servers = ReturnType<typeof createServers>;

/**
 * Each method that connects throws `environment_unavailable`, `not_authorized`, or `config_invalid`
 * without an address.
 */
export function createServers({ config, origin }: Connection) {
  const { namePrefix, environments } = config;
  const closing: (() => Promise<unknown>)[] = [];
  const configured = `configured: ${environments.join(', ')}`;

  async function connect<T>(
    name: string,
    variable: ServerVariable,
    open: () => Promise<T>,
  ): Promise<T> {
    const shown = shownAddress(demand(variable));
    const failed = (why: string, cause?: unknown) =>
      unavailable(`${name} cannot be reached at ${shown} (from ${origin}): ${why}`, cause);
    try {
      const late = () => failed(`no answer within ${CONNECT_MS / 1_000} s`);
      return await withTimeLimit(CONNECT_MS, late, open);
    } catch (error) {
      if (error instanceof StoreDataError) throw error;
      const refusal = refusalOf(error);
      if (refusal === null) throw failed(reasonOf(error), error);
      throw new StoreDataError('not_authorized', `${refusal}, at ${shown}`, { cause: error });
    }
  }

  function connectKafka<C extends Pick<Admin, 'connect' | 'disconnect'>>(
    create: (kafka: Kafka) => C,
  ): Promise<C> {
    return connect('Kafka', 'KAFKA_BROKERS', async () => {
      // kafkajs retries for seconds and hides the cause.
      await firstToAnswer(config.kafka.brokers, kafkaSecurity(config.kafka).ssl);
      const client = create(kafkaClient());
      closing.push(() => client.disconnect());
      await client.connect();
      return client;
    });
  }

  const kafkaClient = lazy(() =>
    createKafka(config, `${namePrefix}.admin`, createLogger('admin', 'silent')),
  );
  const kafka = {
    admin: lazy(() => connectKafka((client) => client.admin({ retry: { retries: 4 } }))),
    producer: lazy(() => connectKafka(createProducer)),
    cluster: lazy(() => connectKafka(createCluster)),
  };

  const redis = lazy(() =>
    connect('Redis', 'REDIS_URL', async () => {
      let last: Error | undefined;
      const client = createRedis(config, {
        away: (error) => {
          last = error;
        },
      });
      closing.push(async () => client.disconnect());
      await client.ready(CONNECT_MS - 500).catch((error: unknown) => {
        throw last ?? error;
      });
      return client;
    }),
  );

  const databases = lazy(() =>
    connect('MongoDB', 'MONGODB_URI', async () => {
      const client = createWriterClient(config, 'admin');
      closing.push(() => client.close());
      await client.db('admin').command({ ping: 1 });
      return new Databases(namePrefix, client);
    }),
  );
  const control = async () => (await databases()).control;
  const access = async () => controlCollections(await control());

  /** The address of a server. @throws {StoreDataError} `config_invalid` if it is not set. */
  function demand(name: ServerVariable): string {
    const addresses = {
      KAFKA_BROKERS: config.kafka.brokers.join(','),
      MONGODB_URI: config.mongodb.uri,
      REDIS_URL: config.redis.url,
    };
    if (addresses[name] !== '') return addresses[name];
    throw new StoreDataError(
      'config_invalid',
      `this command needs ${name}: set it, or start a local stack with "npm start", which writes its addresses to ${STACK_FILE}`,
    );
  }

  /** The given environment, or all. @throws {WrongUsage} naming the configured ones. */
  function environmentsOf({ environment: given }: EnvironmentFlag): Environment[] {
    if (given !== undefined && !environments.includes(given)) {
      throw new WrongUsage(`there is no environment "${given}"; ${configured}`);
    }
    return (given === undefined ? environments : [given]).map((name) =>
      createEnvironment(servers, name),
    );
  }

  const servers = {
    config,
    kafka,
    redis,
    /** The databases, after MongoDB was reached. */
    databases,
    control,
    access,
    demand,
    environmentsOf,

    /** The given environment, or the only one. @throws {WrongUsage} naming the configured ones. */
    environmentOf(flags: EnvironmentFlag): Environment {
      const [only, ...more] = environmentsOf(flags);
      if (only !== undefined && more.length === 0) return only;
      throw new WrongUsage(`--environment is needed, since there are several; ${configured}`);
    },

    async publishToRedis(record: AccessRecord): Promise<void> {
      await publishAccess(await redis(), namePrefix, await access(), record);
    },

    /** Of the partitions whose leader answers. */
    knownBounds: async (topic: string) => readBounds(await kafka.cluster(), topic),

    /** @throws {StoreDataError} `environment_unavailable` naming partitions without a leader. */
    logBounds: async (topic: string) => readLogBounds(await kafka.cluster(), topic),

    logReader: async (topic: string) =>
      createLogReader(await kafka.cluster(), await control(), topic),

    /** For changes that need all three servers. */
    demandAll(): void {
      for (const name of SERVER_VARIABLES) demand(name);
    },

    /** Closes all connections; waits two seconds for each. */
    async [Symbol.asyncDispose](): Promise<void> {
      const late = () => new Error('not closed');
      await Promise.allSettled(closing.map((close) => withTimeLimit(CLOSE_MS, late, close)));
    },
  };
  return servers;
}

interface EnvironmentFlag {
  environment?: string | undefined;
}

/** An environment that a command works on. */
export interface Environment extends AsyncDisposable {
  servers: Servers;
  name: string;
  /** Its topic of changes. */
  topic: string;
  accessTopic: string;
  topics: readonly string[];
  generations: () => ReturnType<typeof findGenerations>;
  liveGeneration: () => ReturnType<typeof findLiveGeneration>;
  /** Of its topic of changes. */
  logBounds: () => Promise<LogBounds>;
}

function createEnvironment(servers: Servers, name: string): Environment {
  const topics = topicsOf(name);
  const [topic, accessTopic] = topics;
  return {
    servers,
    name,
    topic,
    accessTopic,
    topics,
    generations: async () => findGenerations(await servers.databases(), name),
    liveGeneration: async () => findLiveGeneration(await servers.databases(), name),
    logBounds: () => servers.logBounds(topic),
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

/** The servers of this process's settings, for a command, which closes them by `await using`. */
export async function openServers(): Promise<Servers> {
  return createServers(await readConnection(process.env));
}

/**
 * One environment and its servers, for a command, which closes them by `await using`.
 * @throws {WrongUsage} as `environmentOf`.
 */
export async function openEnvironment(flags: EnvironmentFlag): Promise<Environment> {
  return (await openServers()).environmentOf(flags);
}

/** The message of the innermost cause: libraries wrap it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return describeError(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : withoutCredentials(error.message);
}

/** The part of a running local stack's file (rule R15.1) that commands need. */
const StackFile = Type.Object({
  kafka_brokers: Type.Array(Type.String(), { minItems: 1 }),
  mongodb_uri: Type.String(),
  redis_url: Type.String(),
  environments: Type.Array(Type.String(), { minItems: 1 }),
  name_prefix: Type.Optional(Type.String()),
});
const stackFile = Compile(StackFile);

export const STACK_FILE = join('.local', 'stack.json');

/** A stack's file is used only where none of these is set. */
const SERVER_VARIABLES = ['KAFKA_BROKERS', 'MONGODB_URI', 'REDIS_URL'] as const;
type ServerVariable = (typeof SERVER_VARIABLES)[number];

const REPOSITORY = join(import.meta.dirname, '..', '..');

interface Connection {
  config: Config;
  /** In words, for messages. */
  origin: string;
}

/**
 * The environment's variables; where they name no server, with those of a local stack as defaults.
 */
export async function connectionEnvironment(
  env: NodeJS.ProcessEnv,
  folders: readonly string[] = [process.cwd(), REPOSITORY],
): Promise<{ env: NodeJS.ProcessEnv; origin: string }> {
  if (!SERVER_VARIABLES.some((name) => env[name])) {
    for (const folder of folders) {
      const origin = join(folder, STACK_FILE);
      const stack = await readStackFile(origin);
      if (stack === null) continue;
      const given = Object.entries(env).filter(([, value]) => value !== '');
      const combined = {
        ENVIRONMENTS: stack.environments.join(','),
        NAME_PREFIX: stack.name_prefix,
        ...Object.fromEntries(given),
        KAFKA_BROKERS: stack.kafka_brokers.join(','),
        MONGODB_URI: stack.mongodb_uri,
        REDIS_URL: stack.redis_url,
      };
      return { origin, env: combined };
    }
  }
  return { env, origin: 'the environment variables' };
}

/**
 * A missing address is empty: a command that uses the server demands it.
 * @throws {StoreDataError} `config_invalid`.
 */
export async function readConnection(
  given: NodeJS.ProcessEnv,
  folders?: readonly string[],
): Promise<Connection> {
  const { env, origin } = await connectionEnvironment(given, folders);
  const config = readConfig(env, SERVER_VARIABLES);
  // A request may not wait; an operator may.
  const commandTimeoutMs = Math.max(config.redis.commandTimeoutMs, 2_000);
  return { origin, config: { ...config, redis: { ...config.redis, commandTimeoutMs } } };
}

async function readStackFile(path: string): Promise<Static<typeof StackFile> | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null;
    throw new StoreDataError('config_invalid', `${path} cannot be read`, { cause: error });
  });
  if (text === null) return null;
  try {
    const content: unknown = JSON.parse(text);
    if (stackFile.Check(content)) return content;
  } catch {
    // Reported below.
  }
  throw new StoreDataError(
    'config_invalid',
    `${path} is not the file of a running local stack: it needs kafka_brokers, mongodb_uri, redis_url and environments`,
  );
}
