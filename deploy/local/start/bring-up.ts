/** From three running servers to a system at work: topics, services, keys, simulator; ready when a key gets its token. */
import { Kafka, logLevel } from 'kafkajs';
import { join } from 'node:path';
import { createSimulator, type Simulator } from '#local/simulator/simulator.ts';
import { cacheFolder } from '#local/stack/fetch/package.ts';
import type { Guard } from '#local/stack/program/guard.ts';
import type { Stack } from '#local/stack/stack.ts';
import { describeOwnSettings, readConfig } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { createTopics } from '#shared/kafka.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { Databases } from '#shared/read-models/databases.ts';
import { StackError } from '#local/stack/errors.ts';
import { awaitToken, keySeed, makeKeys, publishKeys } from './keys.ts';
import { type HistoryProgress, showLive } from './live-line.ts';
import { type StartOptions, USUAL_PORT } from './options.ts';
import { countOrders } from './orders.ts';
import { awaitProjector, ProjectorWatch } from './projector-watch.ts';
import { histogramOf, scrape } from './samples.ts';
import type { Screen } from './screen.ts';
import { Service } from './service.ts';
import { prepareSigningKey, type StackFile } from './files.ts';

export const ENVIRONMENTS = ['production', 'sandbox'] as const;

const PARTITIONS = 3;
const MAX_MESSAGE_BYTES = 10 * 1_048_576;
const DEFAULT_PREFIX = 'store_data';
/** The same stores in every run. */
const SEED = 1;
const SERVICES = join(import.meta.dirname, '../../../services');

export interface BringUp {
  options: StartOptions;
  stack: Stack;
  guard: Guard;
  screen: Screen;
  /** Ends what is begun here, last first. */
  cleanup: AsyncDisposableStack;
  stopping: AbortSignal;
}

export interface System {
  file: StackFile;
  simulator: Simulator;
}

interface Services {
  watch: ProjectorWatch;
  queryUrl: string;
  operationsUrls: string[];
}

/** Brings everything up: each environment answers, and the history is visible. @throws {StackError} where that fails. */
export async function bringUp(context: BringUp): Promise<System> {
  const { options, stack, screen, cleanup, stopping } = context;
  const kafka = new Kafka({
    clientId: 'local-start',
    brokers: stack.kafkaBrokers,
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 8 },
  });
  screen.live('making topics …');
  const [signingKeysFile] = await Promise.all([
    prepareSigningKey(options.folder, options.keepData),
    prepareTopics(kafka),
  ]);

  const simulator = await createSimulator({
    kafka,
    environments: ENVIRONMENTS,
    seed: SEED,
    stores: options.stores,
    history: options.history,
    ordersPerMinute: options.ordersPerMinute,
    onTrouble: () => {
      if (!stopping.aborted) screen.line('simulator: Kafka takes no events for now; trying again');
    },
  });
  cleanup.defer(() => simulator.stop());
  const storeIds = simulator.stores.map(({ id }) => id);
  const keys = makeKeys(storeIds, ENVIRONMENTS, await keySeed(cacheFolder(process.env)));

  const history: HistoryProgress = {
    events: 0,
    orders: 0,
    ofOrders: simulator.historyOrders,
    isVisible: false,
  };
  const publish = async () => {
    try {
      await publishKeys(kafka, keys);
      await simulator.publishHistory((published) => Object.assign(history, published));
    } catch (error) {
      throw new StackError(`Kafka does not take events: ${describeError(error)}`, { cause: error });
    }
  };
  const [{ watch, queryUrl, operationsUrls }] = await Promise.all([
    startServices(context, signingKeysFile, history),
    publish(),
  ]);
  await awaitProjector(watch, stopping, {
    isDone: ({ keysApplied, accessPending }) => keysApplied >= keys.length && accessPending === 0,
    isIdle: ({ accessLag, accessPending }) => accessLag === 0 && accessPending === 0,
  });
  for (const environment of ENVIRONMENTS) {
    const key = keys.find((key) => key.environment === environment);
    if (key !== undefined) await awaitToken(queryUrl, key, stopping);
  }
  await awaitProjector(watch, stopping, {
    isDone: ({ changesHandled }) => changesHandled >= history.events,
    isIdle: ({ changesLag }) => changesLag === 0,
  });
  history.isVisible = true;

  const prefix = process.env['NAME_PREFIX'] ?? DEFAULT_PREFIX;
  const file: StackFile = {
    query_url: queryUrl,
    operations_urls: operationsUrls,
    kafka_brokers: stack.kafkaBrokers,
    mongodb_uri: stack.mongodbUri,
    redis_url: stack.redisUrl,
    environments: [...ENVIRONMENTS],
    keys,
    ...(prefix === DEFAULT_PREFIX ? {} : { name_prefix: prefix }),
  };
  return { file, simulator };
}

async function prepareTopics(kafka: Kafka): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const topics = ENVIRONMENTS.flatMap((environment) => [
      changesTopic(environment),
      accessTopic(environment),
    ]);
    await createTopics(admin, topics, {
      partitions: PARTITIONS,
      config: { 'max.message.bytes': String(MAX_MESSAGE_BYTES) },
    });
  } finally {
    await admin.disconnect();
  }
}

/** Starts both side by side, and the line that shows what the projector does. */
async function startServices(
  context: BringUp,
  signingKeysFile: string,
  history: HistoryProgress,
): Promise<Services> {
  const { screen, cleanup, stopping } = context;
  const env = serviceEnvironment(context, signingKeysFile);
  const make = (name: string, queryPort = '0') =>
    new Service({
      name,
      file: join(SERVICES, name, 'main.ts'),
      env: { ...env, QUERY_PORT: queryPort },
      logFile: join(context.options.folder, 'logs', `${name}.log`),
      guard: context.guard,
      log: screen.line,
    });
  const projector = make('projector');
  const demanded = context.options.port ?? process.env['QUERY_PORT'];
  let query = make('query', String(demanded ?? USUAL_PORT));
  cleanup.defer(async () => {
    await Promise.all([projector.stop(), query.stop()]);
  });
  screen.live('starting the projector and the query service …');
  const startQuery = () =>
    query.start().catch((error: unknown) => {
      if (demanded !== undefined || !describeError(error).includes('EADDRINUSE')) throw error;
      query = make('query');
      return query.start();
    });
  const [projectorReady, queryReady] = await Promise.all([projector.start(), startQuery()]);
  const watch = new ProjectorWatch(projectorReady.operations);
  const config = readConfig(env);
  const databases = Databases.of(config, (one) => createReaderClient(one, 'local-start'));
  cleanup.defer(() => databases.close());
  const showing = showLive(
    screen,
    async (isVisible) => {
      const [state, samples, orders] = await Promise.all([
        watch.look(),
        isVisible ? scrape(queryReady.operations) : null,
        isVisible ? countOrders(databases, ENVIRONMENTS) : null,
      ]);
      const answers = samples && histogramOf(samples, 'store_data_request_seconds');
      return { projector: state, answers, orders };
    },
    { stores: context.options.stores, history },
    stopping,
  );
  cleanup.defer(() => showing);
  if (queryReady.url === null) throw new StackError('the query service does not say where it listens');
  return {
    watch,
    queryUrl: queryReady.url,
    operationsUrls: [queryReady.operations, projectorReady.operations],
  };
}

/** What the services are told. Operations ports are free ones: two installations may run on one machine. */
function serviceEnvironment({ options, stack }: BringUp, signingKeysFile: string): NodeJS.ProcessEnv {
  const { quota } = options;
  const level = process.env['LOG_LEVEL'];
  const environments = ENVIRONMENTS.join(',');
  // All of it lies on the stack.
  const own = describeOwnSettings({ ENVIRONMENTS: environments });
  return {
    ...process.env,
    ENVIRONMENTS: environments,
    ...Object.fromEntries(own.map(({ name }) => [name, ''])),
    KAFKA_BROKERS: stack.kafkaBrokers.join(','),
    MONGODB_URI: stack.mongodbUri,
    REDIS_URL: stack.redisUrl,
    SIGNING_KEYS: '',
    SIGNING_KEYS_FILE: signingKeysFile,
    OPERATIONS_PORT: '0',
    // Nobody here sends requests elsewhere meanwhile.
    SHUTDOWN_DELAY_MS: process.env['SHUTDOWN_DELAY_MS'] ?? '0',
    // A service says at this level that it is ready, and where.
    LOG_LEVEL: level === 'debug' || level === 'trace' ? level : 'info',
    ...(quota === null ? {} : { QUOTA_REQUESTS: String(quota), QUOTA_WINDOW_SECONDS: '60' }),
  };
}
